import type { Page } from '@playwright/test';
import { expect, test } from '../support/test.ts';

test.use({ javaScriptEnabled: false });

async function open(page: Page, url: string, title: string): Promise<void> {
  await page.goto(url);
  await expect(page.locator('h1')).toHaveText(title);
  await expect(page.locator('noscript'), 'the page says that it stands still').toBeVisible();
  // What could not work is not offered.
  await expect(page.locator('.needs-js:visible')).toHaveCount(0);
  await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
}

test('the overview shows states, figures, and its charts as tables', async ({ page, houses }) => {
  const { penstock } = await houses('some');
  await open(page, `${penstock.url}/`, 'Overview');
  const main = page.locator('main');
  await expect(main).toContainText('21 pending');
  const card = main.locator('article').filter({ hasText: 'vision' });
  await expect(card).toContainText(/\d+\s*%/);
  // The dimension that binds: at this little load either may.
  await expect(card).toContainText(/requests\/min|calls in flight/);
  await expect(main.locator('article').filter({ hasText: 'chat' })).toContainText('Tripped by hand');
  const tables = main.locator('details table');
  await expect(tables.first()).toBeAttached();
  expect(await tables.locator('tbody tr').count()).toBeGreaterThan(0);
  await main.locator('details').first().locator('summary').click();
  await expect(tables.first()).toBeVisible();
  await expect(main.getByRole('link', { name: /content refused/ })).toHaveAttribute('href', '/pending?error_class=content_violation');
});

test('pending shows rows and facets, filters by a form, and opens a record', async ({ page, houses }) => {
  const { penstock } = await houses('some');
  await open(page, `${penstock.url}/pending`, 'Pending');
  await expect(page.locator('tbody tr')).toHaveCount(21);
  await page.locator('.facets').getByRole('link', { name: /content refused/ }).click();
  await expect(page).toHaveURL(/error_class=content_violation/);
  await expect(page.locator('tbody tr')).toHaveCount(3);
  await page.getByRole('searchbox').fill('safety system');
  await page.getByRole('searchbox').press('Enter');
  await expect(page).toHaveURL(/error_class=content_violation&text=safety/);
  await expect(page.locator('tbody tr')).toHaveCount(3);
  await page.locator('tbody tr a').first().click();
  await expect(page).toHaveURL(/\/pending\/r/);
  const record = page.locator('aside');
  await expect(record).toContainText('The image was refused by the safety system');
  await expect(record).toContainText('Attempt 1');
  await expect(record).toContainText('content_policy_violation');
  await record.locator('summary', { hasText: 'Payload' }).click();
  await expect(record.locator('pre.payload[aria-label^="Payload"]')).toContainText('"n":');
  await record.getByRole('link', { name: 'Back to the list' }).click();
  await expect(page).toHaveURL(/\/pending\?error_class/);
});

test('replays shows what was sent, and how it ended', async ({ page, houses }) => {
  const { penstock } = await houses('some');
  await open(page, `${penstock.url}/replays`, 'Replays');
  const row = page.locator('tbody tr');
  await expect(row).toHaveCount(1);
  await expect(row).toContainText('done');
  await expect(row).toContainText('class: server error');
});

test('breakers shows state, cause, reason and history', async ({ page, houses }) => {
  const { penstock } = await houses('some');
  await open(page, `${penstock.url}/breakers`, 'Breakers');
  const card = page.locator('article#chat');
  await expect(card).toContainText('held open');
  await expect(card).toContainText('服务商维护');
  await expect(card.locator('.history li').first()).toContainText('tripped by hand');
  await expect(card.getByRole('img', { name: /State diagram/ })).toBeVisible();
});

test('quotas shows upstreams, a quota its fields and versions', async ({ page, houses }) => {
  const { penstock } = await houses('some');
  await open(page, `${penstock.url}/quotas`, 'Quotas');
  await expect(page.getByRole('link', { name: 'vision', exact: true })).toHaveAttribute('href', '/quotas/vision');
  await expect(page.locator('main')).toContainText('60,000');
  await page.getByRole('link', { name: 'vision', exact: true }).click();
  await expect(page).toHaveURL(/\/quotas\/vision$/);
  await expect(page.locator('main')).toContainText('vision');
  await expect(page.locator('main')).toContainText('for the test');
});

test('an empty console teaches how to begin', async ({ page, houses }) => {
  const { penstock } = await houses('empty');
  await open(page, `${penstock.url}/`, 'Overview');
  await expect(page.locator('main pre').first()).toContainText(`${penstock.url}/gw/vision/`);
  await expect(page.getByRole('link', { name: 'Add an upstream' })).toHaveAttribute('href', '/quotas/new');
});

test('language and theme are links, and stay', async ({ page, houses }) => {
  const { penstock } = await houses('some');
  await page.goto(`${penstock.url}/breakers?x=1`);
  await page.getByRole('link', { name: '中文' }).click();
  await expect(page).toHaveURL(`${penstock.url}/breakers?x=1`);
  await expect(page.locator('h1')).toHaveText('熔断器');
  await page.getByRole('link', { name: '深色' }).click();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await page.goto(`${penstock.url}/replays`);
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN');
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
});

test('signing in and out are plain forms', async ({ page, locked }) => {
  await page.goto(`${locked.url}/pending?text=a`);
  await expect(page.locator('h1')).toHaveText('Sign in');
  await page.getByLabel('Password').fill('a guess');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toHaveText('That is not the password.');
  await page.getByLabel('Password').fill('correct horse');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page).toHaveURL(`${locked.url}/pending?text=a`);
  await expect(page.locator('h1')).toHaveText('Pending');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.locator('h1')).toHaveText('Sign in');
});
