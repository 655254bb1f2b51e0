import { open } from '../support/console.ts';
import { addUpstream, upstream } from '../support/data.ts';
import { expect, test } from '../support/test.ts';

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();

test('an operator sees who reports and how late, sets a request, and sends what failed there', async ({ page, house, watch }) => {
  const { penstock, provider } = house;
  await addUpstream(penstock, 'vision', upstream(provider.url));
  await open(page, `${penstock.url}/sources`);
  await expect(page.getByRole('heading', { name: 'No system reports here yet' })).toBeVisible();

  // The page looks again by itself.
  const sample = { source: 'flow-east', upstream: 'vision', at: ago(2), window_s: 10, requests: 60, accepted: 54, limiter: { rate: 6 } };
  await penstock.api('POST', '/ingest/metrics', sample);
  const failed = { source: 'flow-east', upstream: 'vision', payload: { tile: 7 }, error_class: 'timeout', idempotency_key: 'k7' };
  await penstock.api('POST', '/ingest/pending', failed);
  const panel = page.getByRole('region', { name: 'flow-east', exact: true });
  await expect(panel.getByText('on time')).toBeVisible();
  await expect(panel.getByRole('cell', { name: '324/min' })).toBeVisible();
  await expect(panel.getByRole('cell', { name: '90 %' })).toBeVisible();
  await expect(panel.getByText('came without method and path')).toBeVisible();

  await panel.getByRole('button', { name: 'Set… flow-east' }).click();
  const dialog = page.getByRole('dialog', { name: 'Requests and outcomes of flow-east' });
  await dialog.getByLabel('Path').fill('/v1/ok');
  await dialog.getByLabel('Headers').fill('no header');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog.getByText('A header is a name, a colon and a value.')).toBeVisible();
  await dialog.getByLabel('Headers').fill('X-Model: m1');
  await dialog.getByLabel('Tell outcomes to').fill('http://127.0.0.1:9/outcomes');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog).toBeHidden();
  await expect(panel.getByText('POST /v1/ok')).toBeVisible();
  await expect(panel.getByText('http://127.0.0.1:9/outcomes', { exact: true }).first()).toBeVisible();

  await panel.getByRole('link', { name: '1 open' }).click();
  await expect(page).toHaveURL(/pending\?upstream=vision&source=flow-east/);
  await expect(page.getByText('source: flow-east')).toBeVisible();
  await page.locator('tbody tr a').first().click();
  await page.getByRole('button', { name: 'Replay', exact: false }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: /^Replay|^Start/ }).click();
  await expect.poll(async () => (await penstock.api<{ total: { n: number } }>('GET', '/pending?disposition=resolved')).total.n).toBe(1);
  watch.expectNone();
});

test('the chart of what a source reports says so, and leads back', async ({ page, houses, watch }) => {
  const { penstock } = await houses('some');
  await open(page, `${penstock.url}/sources`);
  await page.getByRole('region', { name: 'flow-east', exact: true }).getByRole('link', { name: 'vision' }).first().click();
  await expect(page).toHaveURL(/\/\?upstream=vision&source=flow-east/);
  await expect(page.getByRole('heading', { name: /vision, as flow-east reports/ })).toBeVisible();
  await page.getByRole('link', { name: '6 h' }).first().click();
  await expect(page, 'a range keeps the source').toHaveURL(/source=flow-east&minutes=360/);
  await page.getByRole('link', { name: 'As seen here' }).click();
  await expect(page.getByRole('heading', { name: 'Utilisation · vision', exact: true })).toBeVisible();
  watch.expectNone();
});
