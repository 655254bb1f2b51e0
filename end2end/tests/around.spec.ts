import { expectAccessible } from '../support/axe.ts';
import { expectNoSidewaysScroll, open } from '../support/console.ts';
import { expect, test } from '../support/test.ts';

test('the console can be installed', async ({ page, houses, watch }) => {
  const { penstock } = await houses('empty');
  await open(page, penstock.url);
  const href = await page.locator('link[rel="manifest"]').getAttribute('href');
  const answer = await page.request.get(`${penstock.url}${href}`);
  expect(answer.headers()['content-type']).toBe('application/manifest+json');
  const manifest = (await answer.json()) as { display: string; icons: { src: string; sizes: string; type: string }[] };
  expect(manifest.display).toBe('standalone');
  for (const icon of manifest.icons) {
    const at = new URL(icon.src, `${penstock.url}${href}`).href;
    const size = await page.evaluate(async (src) => {
      const image = new Image();
      image.src = src;
      await image.decode();
      return `${image.naturalWidth}x${image.naturalHeight}`;
    }, at);
    if (icon.sizes !== 'any') expect(size, icon.src).toBe(icon.sizes);
  }
  // What the browser itself has against it.
  const client = await page.context().newCDPSession(page);
  const { errors } = (await client.send('Page.getAppManifest')) as { errors: unknown[] };
  expect(errors).toEqual([]);
  watch.expectNone();
});

test('the API is explained on a page of its own', async ({ page, houses, watch }) => {
  const { penstock } = await houses('empty');
  for (const [width, colorScheme] of [[1440, 'light'], [390, 'dark']] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${penstock.url}/docs`);
    await expect(page.locator('h1')).toHaveText('API');
    await expect(page.locator('main')).toContainText('POST /permits/{id}/settle');
    await expectNoSidewaysScroll(page);
    await expectAccessible(page, `at ${width} px`);
  }
  watch.expectNone();
});
