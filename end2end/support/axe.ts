import { AxeBuilder } from '@axe-core/playwright';
import { type Page, expect } from '@playwright/test';

/** Every rule of axe, the best practices too. */
export async function expectAccessible(page: Page, where: string): Promise<void> {
  // The pages have no frames; the legacy mode does without a helper page, which takes longer than the rules. Rows are
  // alike: a dozen of a list are looked at, not the hundred.
  const { violations } = await new AxeBuilder({ page })
    .setLegacyMode(true)
    .exclude('tbody > tr:nth-child(n + 13)')
    .options({ resultTypes: ['violations'] })
    .analyze();
  const told = violations.flatMap((violation) =>
    violation.nodes.slice(0, 5).map((node) => `${violation.id}: ${node.target.join(' ')}: ${node.any[0]?.message ?? node.failureSummary ?? ''}`),
  );
  expect(told, `axe finds nothing ${where}`).toEqual([]);
}
