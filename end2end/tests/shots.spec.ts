import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type Page, expect } from '@playwright/test';
import { open } from '../support/console.ts';
import { Penstock } from '../support/penstock.ts';
import { pendingCount } from '../support/data.ts';
import { test } from '../support/test.ts';

/** Where the documentation's screenshots go; without it nothing is taken. */
const folder = process.env['PENSTOCK_SHOTS'];

test.skip(folder === undefined, '`cargo xtask shots` takes the screenshots');
// One demo, looked at in the order of its story.
test.describe.configure({ mode: 'serial', timeout: 420_000 });

let demo: Penstock | undefined;

test.beforeAll(async () => {
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  demo = await Penstock.start({ command: ['demo'] });
});

test.afterAll(async () => demo?.stop());

interface Upstream {
  name: string;
  breaker: string;
}

/**
 * The demo in its second incident, when there is a story to see: the chat API went down, came back, and is down again, its
 * breaker open, records waiting.
 */
async function inAnIncident(penstock: Penstock): Promise<void> {
  const chat = async () => {
    const { upstreams } = await penstock.api<{ upstreams: Upstream[] }>('GET', '/overview');
    return upstreams.find(({ name }) => name === 'chat')?.breaker;
  };
  for (const state of ['open', 'closed', 'open']) {
    await expect.poll(chat, { message: `the chat API's breaker is ${state}`, timeout: 180_000, intervals: [1_000] }).toBe(state);
  }
  await expect.poll(() => pendingCount(penstock), { timeout: 60_000, intervals: [1_000] }).toBeGreaterThan(5);
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: path.join(folder ?? '', `${name}.png`), animations: 'disabled', caret: 'hide' });
}

test('the overview', async ({ page, watch }) => {
  if (!demo) throw new Error('the demo does not run');
  await inAnIncident(demo);
  await page.setViewportSize({ width: 1440, height: 1000 });
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await open(page, `${demo.url}/?upstream=vision&minutes=15`);
  await expect(page.locator('.todo-list')).toContainText('Breaker open');
  await expect(page.locator('.charted svg').first()).toBeVisible();
  await shoot(page, 'overview');
  watch.expectNone();
});

test('pending', async ({ page, watch }) => {
  if (!demo) throw new Error('the demo does not run');
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await open(page, `${demo.url}/pending`);
  await page.locator('tbody tr a').first().click();
  await expect(page.locator('aside.record .attempts li').first()).toBeVisible();
  await shoot(page, 'pending');
  watch.expectNone();
});

test('the overview in Chinese, dark', async ({ page, context, watch }) => {
  if (!demo) throw new Error('the demo does not run');
  await context.addCookies([
    { name: 'penstock_lang', value: 'zh', url: demo.url },
    { name: 'penstock_theme', value: 'dark', url: demo.url },
  ]);
  await page.setViewportSize({ width: 1440, height: 1000 });
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await open(page, `${demo.url}/?upstream=vision&minutes=15`);
  await expect(page.locator('h1')).toHaveText('总览');
  await shoot(page, 'overview-zh-dark');
  watch.expectNone();
});

test('a phone', async ({ page, watch }) => {
  if (!demo) throw new Error('the demo does not run');
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  await open(page, `${demo.url}/breakers`);
  await expect(page.locator('article#chat')).toBeVisible();
  await shoot(page, 'breakers-phone');
  watch.expectNone();
});
