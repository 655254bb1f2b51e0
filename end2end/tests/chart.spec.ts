import { open } from '../support/console.ts';
import { expect, test } from '../support/test.ts';

test.use({ trace: 'retain-on-failure', viewport: { width: 1440, height: 900 } });

test('a part of the chart is zoomed into by dragging, shared by its address, and left again', async ({ page, houses, watch }) => {
  const { penstock } = await houses('some');
  await open(page, `${penstock.url}/?upstream=chat&minutes=15`);
  const surface = page.locator('.charted .surface').first();
  const box = await surface.boundingBox();
  if (!box) throw new Error('the chart has no surface');
  const y = box.y + box.height / 2;
  // The pointer over one chart is seen in both.
  await page.mouse.move(box.x + box.width * 0.995, y);
  await expect(page.locator('.chart.bars .cursor')).toHaveCount(1);
  await page.mouse.move(box.x + box.width * 0.4, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, y, { steps: 4 });
  await expect(page.locator('.marked')).toHaveCount(1);
  await page.mouse.up();
  await expect(page).toHaveURL(/minutes=[78]&until=2/);
  await expect(page.locator('.fixed-range')).toBeVisible();
  const address = page.url();
  const other = await page.context().newPage();
  await open(other, address);
  await expect(other.locator('.fixed-range')).toHaveText((await page.locator('.fixed-range').textContent()) ?? '');
  await other.close();
  await page.getByRole('link', { name: 'Zoom out' }).click();
  await expect(page).toHaveURL(/minutes=1[456]&until=2/);
  await page.goBack();
  await expect(page).toHaveURL(address);
  await page.getByRole('link', { name: 'Back to now' }).click();
  await expect(page).toHaveURL(`${penstock.url}/?upstream=chat`);
  await expect(page.locator('.fixed-range')).toHaveCount(0);

  await page.getByRole('button', { name: 'Other…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Another range' });
  await dialog.getByLabel('Length').selectOption('6 hours');
  await dialog.getByLabel('Ends at').fill('2026-01-02T03:04');
  await dialog.getByRole('button', { name: 'Show' }).click();
  await expect(page).toHaveURL(/minutes=360&until=2026-01-01T19%3A04/);
  await expect(page.locator('main')).toContainText('01-02 03:04');
  watch.expectNone();
});
