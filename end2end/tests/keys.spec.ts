import { crossing, open } from '../support/console.ts';
import { addUpstream, upstream } from '../support/data.ts';
import { expect, test } from '../support/test.ts';

test('a key is made, shown once, lets a worker in, is revoked, and all of it is in the audit', async ({ page, house, watch }) => {
  await addUpstream(house.penstock, 'vision', upstream(house.provider.url));
  await open(page, house.penstock.url);
  await crossing(page, () => page.locator('.side nav a[href="/engines"]').click());
  await expect(page.locator('main')).toContainText('No key was made yet.');
  await page.getByRole('button', { name: 'Make a key…' }).click();
  const dialog = page.locator('dialog[open]');
  const make = dialog.getByRole('button', { name: 'Make it' });
  await expect(make, 'a key needs a name').toBeDisabled();
  await dialog.getByLabel('Name').fill('flow-engines');
  await dialog.getByLabel('Name').press('Enter');
  await expect(dialog.locator('h2')).toHaveText('The new key');
  const secret = (await dialog.locator('pre').textContent()) ?? '';
  expect(secret).toMatch(/^pnk_/);
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await expect(dialog).toBeHidden();
  const row = page.locator('.worker-keys tbody tr');
  await expect(row).toContainText('flow-engines');
  await expect(row).toContainText('never');
  await expect(page.locator('body')).not.toContainText(secret);

  const call = async () => (await house.penstock.call('vision', '/v1/ok', {}, { 'penstock-key': secret, 'penstock-engine': 'flow-1' })).status;
  expect(await call()).toBe(200);
  await expect(page.locator('.engines tbody tr')).toContainText('flow-1');
  await row.getByRole('button', { name: 'Revoke… flow-engines' }).click();
  await page.getByRole('dialog', { name: 'Revoke the key flow-engines' }).getByRole('button', { name: 'Revoke it' }).click();
  await expect(row).toContainText('revoked');
  expect(await call()).toBe(401);

  await page.locator('.side nav a[href="/audit"]').click();
  const entries = page.locator('.audit > li');
  await expect(entries.nth(0)).toContainText('revoked key');
  await expect(entries.nth(1)).toContainText('made key');
  await expect(entries.nth(1)).toContainText('console');
  await page.getByLabel('What').selectOption('saved the quota of');
  await page.getByRole('button', { name: 'Show' }).click();
  await expect(page).toHaveURL(/action=upstream_saved/);
  await expect(entries.first()).toContainText('vision');
  await expect(page.locator('.audit')).not.toContainText('made key');
  watch.expectNone();
});
