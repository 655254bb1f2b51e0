import { open } from '../support/console.ts';
import { addUpstream, pendingCount, upstream } from '../support/data.ts';
import { expect, test } from '../support/test.ts';

const answer = '{"error": {"code": "queue_moved", "message": "Look there"}}';

test('an operator tries an answer, writes a rule for it, tries again, saves, and the next call follows it', async ({ page, house, watch }) => {
  const { penstock, provider } = house;
  await addUpstream(penstock, 'vision', upstream(provider.url));
  await penstock.call('vision', '/v1/bad', { n: 1 });
  expect(await pendingCount(penstock, '?error_class=client_error')).toBe(1);

  await open(page, `${penstock.url}/quotas/vision`);
  const box = page.getByRole('region', { name: 'Try an answer' });
  await box.getByLabel('Status').fill('400');
  await box.getByLabel('Headers').fill('no header');
  await box.getByRole('button', { name: 'Classify' }).click();
  await expect(box.getByText('Line 1', { exact: false })).toBeVisible();
  await box.getByLabel('Headers').fill('Content-Type: application/json');
  await box.getByLabel('Body').fill(answer);
  await box.getByRole('button', { name: 'Classify' }).click();
  const result = box.getByRole('status').filter({ hasText: 'Decided by' });
  await expect(result.getByText('queue_moved')).toBeVisible();
  await expect(result.getByText('4xx: the request itself is refused')).toBeVisible();

  const rules = page.getByRole('group', { name: 'Rules of its own' });
  await rules.getByRole('button', { name: 'Add a rule' }).click();
  const rule = rules.getByRole('group', { name: 'Rule 1' });
  await rule.getByLabel('Place in the JSON').fill('error/code');
  await expect(rule.getByText('JSON pointer', { exact: false })).toBeVisible();
  await rule.getByLabel('Place in the JSON').fill('/error/code');
  await rule.getByLabel('What stands there').fill('invalid_request');
  await rule.getByLabel('Status').fill('400');
  await rule.getByLabel('Is a failure of class').selectOption('server_error');
  await rules.getByRole('button', { name: 'Add a rule' }).click();
  const second = rules.getByRole('group', { name: 'Rule 2' });
  await second.getByLabel('Status').fill('400');
  await second.getByLabel('Is a failure of class').selectOption('timeout');
  await rules.getByRole('button', { name: 'Move rule 2 up' }).click();
  await expect(rule.getByLabel('Is a failure of class')).toHaveValue('timeout');
  await expect(rules.getByRole('button', { name: 'Move rule 1 down' })).toBeFocused();

  await expect(box.getByText('was changed since', { exact: false })).toBeVisible();
  await box.getByRole('button', { name: 'Classify' }).click();
  await expect(result.getByText('rule 1', { exact: false }).first()).toBeVisible();
  await rules.getByRole('button', { name: 'Remove rule 1' }).click();

  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('v2', { exact: false }).first()).toBeVisible();
  const saved = await penstock.api<{ config: { rules: unknown } }>('GET', '/upstreams/vision');
  expect(saved.config.rules).toEqual([{ status: 400, pointer: '/error/code', value: 'invalid_request', class: 'server_error' }]);
  await penstock.call('vision', '/v1/bad', { n: 2 });
  expect(await pendingCount(penstock, '?error_class=server_error')).toBe(1);

  // What was kept of the attempt says by which rule, what was answered and what followed.
  await page.goto(`${penstock.url}/pending?error_class=server_error`);
  await page.locator('tbody tr a').first().click();
  const record = page.locator('aside.record');
  await expect(record.getByText("the upstream's own rule 1")).toBeVisible();
  await expect(record.getByText('left to a person', { exact: false })).toBeVisible();
  await record.getByText('Answer to attempt 1', { exact: false }).click();
  await expect(record.getByRole('region', { name: 'Answer to attempt 1' }).getByText('is not known', { exact: false })).toBeVisible();
  watch.expectNone();
});

test('a form that is saved for another reason keeps the rules', async ({ page, house, watch }) => {
  const { penstock, provider } = house;
  const rules = [
    { status: 503, class: 'timeout', action: 'park' },
    { pointer: '/a~1b/0', value: '', class: 'rate_limited' },
  ];
  await addUpstream(penstock, 'vision', upstream(provider.url, { rules }));
  await open(page, `${penstock.url}/quotas/vision`);
  await page.getByLabel('Requests per minute').fill('50000');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await penstock.api<{ version: number }>('GET', '/upstreams/vision')).version).toBe(2);
  const saved = await penstock.api<{ config: { rules: unknown } }>('GET', '/upstreams/vision');
  expect(saved.config.rules).toEqual(rules);
  watch.expectNone();
});
