import { open } from '../support/console.ts';
import { expect, test } from '../support/test.ts';

test('a long name of an engine or a key breaks within its cell, never over its neighbour', async ({ page, houses, watch }) => {
  const { penstock } = await houses('much');
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await open(page, `${penstock.url}/engines`);
    const names = page.locator('th[scope="row"] .name');
    await expect(names.filter({ hasText: /x{60}/ }).first()).toBeVisible();
    const over = await names.evaluateAll((all) =>
      all.filter((name) => name.getBoundingClientRect().right > (name.closest('th')?.getBoundingClientRect().right ?? 0)).length,
    );
    expect(over, `at ${width} px`).toBe(0);
  }
  watch.expectNone();
});
