import type { Page } from '@playwright/test';
import { expectAccessible } from '../support/axe.ts';
import { expectNoSidewaysScroll, open } from '../support/console.ts';
import { type Lang, type Theme, expect, test } from '../support/test.ts';
import { expectChinese } from '../support/words.ts';

/** A dialog, and how one gets to it. */
interface Question {
  name: string;
  path: string;
  ask: (page: Page) => Promise<void>;
}

const row = async (page: Page) => {
  await expect(page.locator('tbody tr').first()).toBeVisible();
  await page.keyboard.press('j');
};

const questions: Question[] = [
  { name: 'keys', path: '/pending', ask: async (page) => page.keyboard.press('?') },
  {
    name: 'replay',
    path: '/pending?upstream=vision',
    ask: async (page) => {
      await row(page);
      await page.keyboard.press('r');
    },
  },
  {
    name: 'snooze',
    path: '/pending',
    ask: async (page) => {
      await row(page);
      await page.keyboard.press('z');
    },
  },
  {
    name: 'discard',
    path: '/pending',
    ask: async (page) => {
      await row(page);
      await page.keyboard.press('x');
      await page.locator('.bulk .small').first().click();
      await page.locator('.bulk button.bad').click();
    },
  },
  {
    name: 'edit',
    path: '/pending?error_class=content_violation',
    ask: async (page) => {
      await page.locator('tbody tr a').first().click();
      await page.locator('aside.record .actions button').nth(1).click();
    },
  },
  { name: 'cancel', path: '/replays', ask: async (page) => page.locator('article button.bad').first().click() },
  { name: 'trip', path: '/breakers', ask: async (page) => page.locator('article#regional-endpoint-9 .actions button').first().click() },
  { name: 'reset', path: '/breakers', ask: async (page) => page.locator('article#vision .actions button').nth(1).click() },
  { name: 'make a key', path: '/engines', ask: async (page) => page.locator('.worker-keys > header button').click() },
  { name: 'revoke a key', path: '/engines', ask: async (page) => page.locator('.worker-keys button.bad').first().click() },
  { name: 'range', path: '/', ask: async (page) => page.locator('.page-head .seg button').click() },
  { name: 'roll back', path: '/quotas/LONG', ask: async (page) => page.locator('.way-back button').first().click() },
  { name: 'delete', path: '/quotas/LONG', ask: async (page) => page.locator('section[aria-labelledby=test-title] button.bad:visible').first().click() },
];

const long = `${'very-long-upstream-name-'.repeat(3)}end`.slice(0, 64);
const dresses: [Lang, Theme][] = [
  ['en', 'light'],
  ['en', 'dark'],
  ['zh', 'light'],
  ['zh', 'dark'],
];

for (const [lang, theme] of dresses) {
  test(`every dialog is accessible and fits, ${lang}, ${theme}`, async ({ page, context, houses, watch }) => {
    test.setTimeout(180_000);
    const { penstock } = await houses('much');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    page.setDefaultTimeout(10_000);
    await context.addCookies([
      { name: 'penstock_lang', value: lang, url: penstock.url },
      { name: 'penstock_theme', value: theme, url: penstock.url },
    ]);
    for (const { name, path, ask } of questions) {
      await page.setViewportSize({ width: 1440, height: 900 });
      await open(page, `${penstock.url}${path.replace('LONG', long)}`);
      await ask(page);
      const dialog = page.locator('dialog[open]');
      await expect(dialog, name).toBeVisible();
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
        await expectNoSidewaysScroll(page);
        const box = await dialog.boundingBox();
        expect(box && box.x >= 0 && box.x + box.width <= width, `${name} fits into ${width} px`).toBe(true);
        await expectAccessible(page, `in the dialog "${name}" at ${width} px`);
      }
      if (lang === 'zh') await expectChinese(page);
      await page.keyboard.press('Escape');
      await expect(dialog, `${name} closes by Escape`).toBeHidden();
    }
    watch.expectNone();
  });
}
