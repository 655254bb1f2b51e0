import { type Page, expect } from '@playwright/test';
import { crossing, open } from '../support/console.ts';
import { addUpstream, pendingAre, upstream } from '../support/data.ts';
import { type House, test } from '../support/test.ts';

test.use({ trace: 'retain-on-failure', viewport: { width: 1440, height: 900 } });

/** What the navigation says beside a page's name. */
const badge = (page: Page, to: string) => page.locator(`.side nav a[href="${to}"] .n .long`);

/**
 * Calls that fail at the provider, made by a worker through the gateway. They carry a key, so each is a record: on disk
 * before it is sent, its result kept.
 */
async function burst(house: House, kind: string, n: number): Promise<void> {
  const calls = Array.from({ length: n }, (_, i) =>
    house.penstock.call('vision', `/v1/${kind}`, { tile: i }, { 'idempotency-key': `${kind}-${i}`, 'penstock-engine': 'fme-1' }),
  );
  for (const answer of await Promise.all(calls)) {
    expect(answer.status, 'the worker is told of the failure').toBeGreaterThanOrEqual(400);
    await answer.arrayBuffer();
  }
}

async function ready(page: Page, house: House): Promise<void> {
  await addUpstream(house.penstock, 'vision', upstream(house.provider.url));
  await open(page, `${house.penstock.url}/`);
  await expect(page.locator('main')).toContainText('Nothing needs you now.');
}

/** All results are with their records, where a worker reads them. */
async function expectWrittenBack(house: House, ids: string[]): Promise<void> {
  for (const id of ids) {
    const view = await house.penstock.api<{ state: string; result: string | null }>('GET', `/records/${id}`);
    expect(view.state).toBe('succeeded');
    expect(view.result).toContain('"done":"down"');
  }
}

async function idsOf(house: House, filter: string): Promise<string[]> {
  const page = await house.penstock.api<{ items: { id: string }[] }>('GET', `/pending${filter}`);
  return page.items.map((item) => item.id);
}

test('from a burst of failures to a finished replay, by mouse', async ({ page, house, watch }) => {
  await ready(page, house);
  await test.step('the failures are seen as they happen', async () => {
    await page.evaluate(() => Object.assign(window, { sameDocument: true }));
    await burst(house, 'down', 8);
    await burst(house, 'content', 3);
    await expect(badge(page, '/pending')).toHaveText('11');
    await expect(page.locator('main')).toContainText('11 pending');
    await expect(page.locator('main')).toContainText('8 of them are one class: server error.');
    expect(await page.evaluate(() => 'sameDocument' in window), 'without a reload').toBe(true);
  });
  const ids = await idsOf(house, '?error_class=server_error');
  expect(ids).toHaveLength(8);

  await test.step('they are found by their class', async () => {
    await crossing(page, () => page.getByRole('link', { name: 'Triage' }).click());
    await expect(page.locator('h1')).toHaveText('Pending');
    await expect(page.locator('tbody tr')).toHaveCount(11);
    await page.locator('.facets').getByRole('link', { name: /server error/ }).click();
    await expect(page).toHaveURL(/\/pending\?error_class=server_error$/);
    await expect(page.locator('tbody tr')).toHaveCount(8);
    await expect(page.locator('.pending-list caption')).toHaveText('8 match');
  });

  await test.step('one is read', async () => {
    await page.locator('tbody tr a').first().click();
    const record = page.locator('aside.record');
    await expect(record).toContainText('The model is overloaded');
    await expect(record).toContainText('fme-1');
    await expect(record.locator('.attempts li')).toHaveCount(1);
    await record.locator('summary', { hasText: 'Payload' }).click();
    await expect(record.locator('pre.payload[aria-label^="Payload"]')).toContainText('"tile":');
    await record.getByRole('link', { name: 'Back to the list' }).click();
    await expect(record).toBeHidden();
  });

  await test.step('all that match are replayed, after a look at what will happen', async () => {
    house.provider.broken = false;
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await expect(page.locator('.bulk')).toContainText('8 selected');
    await page.getByRole('button', { name: 'Replay 8…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replay 8 records' });
    await expect(dialog.locator('.sorted .go dd')).toHaveText('8');
    await dialog.getByRole('button', { name: 'Start, send 8' }).click();
  });

  await test.step('its progress is watched to its end', async () => {
    await expect(page.locator('h1')).toHaveText('Replays');
    const row = page.locator('tbody tr').first();
    await expect(row).toContainText('done', { timeout: 20_000 });
    await expect(row).toContainText('class: server error');
    await expect(badge(page, '/pending')).toHaveText('3');
  });

  await test.step('what is left is discarded, and pending is empty', async () => {
    await page.locator('.side nav a[href="/pending"]').click();
    await expect(page.locator('tbody tr')).toHaveCount(3);
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await page.getByRole('button', { name: 'Discard 3…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard 3', exact: true }).click();
    await expect(page.locator('main')).toContainText('Nothing waits for a decision');
    await expect(badge(page, '/pending')).toHaveText('');
  });
  await expectWrittenBack(house, ids);
  watch.expectNone();
});

test('from a burst of failures to a finished replay, by keyboard alone', async ({ page, house, watch }) => {
  await ready(page, house);
  await burst(house, 'down', 4);
  await burst(house, 'bad', 2);
  await expect(badge(page, '/pending')).toHaveText('6');
  const ids = await idsOf(house, '?error_class=server_error');
  const { keyboard } = page;

  /** Goes from one thing to the next until the wanted one has the focus. */
  const tabTo = async (name: RegExp) => {
    for (let n = 0; n < 80; n += 1) {
      await keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const element = document.activeElement;
        return `${element?.getAttribute('aria-label') ?? ''} ${element?.textContent ?? ''}`.trim();
      });
      if (name.test(at)) return;
    }
    throw new Error(`no way leads to ${name} by Tab`);
  };

  await test.step('past the navigation, to the list', async () => {
    await keyboard.press('Tab');
    await expect(page.getByRole('link', { name: 'Skip to content' })).toBeFocused();
    await keyboard.press('Enter');
    await expect(page.locator('main')).toBeFocused();
    await tabTo(/^Triage$/);
    await crossing(page, () => keyboard.press('Enter'));
    await expect(page.locator('h1')).toHaveText('Pending');
    await expect(page.locator('tbody tr')).toHaveCount(6);
  });

  await test.step('filter by words and by class', async () => {
    await keyboard.press('/');
    await expect(page.getByRole('searchbox')).toBeFocused();
    await keyboard.type('overloaded');
    await keyboard.press('Enter');
    await expect(page).toHaveURL(/text=overloaded/);
    await expect(page.locator('tbody tr')).toHaveCount(4);
    await keyboard.press('Escape');
  });

  await test.step('the keys are told', async () => {
    await keyboard.press('?');
    await expect(page.getByRole('dialog', { name: 'Keys' })).toBeVisible();
    await keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toBeHidden();
  });

  await test.step('move, open, come back', async () => {
    await keyboard.press('j');
    await expect(page.locator('tbody tr').nth(0).locator('td.what a')).toBeFocused();
    await keyboard.press('j');
    await expect(page.locator('tbody tr').nth(1).locator('td.what a')).toBeFocused();
    await keyboard.press('k');
    await expect(page.locator('tbody tr').nth(0).locator('td.what a')).toBeFocused();
    await keyboard.press('Enter');
    await expect(page.locator('aside.record')).toContainText('The model is overloaded');
    await keyboard.press('Escape');
    await expect(page.locator('aside.record')).toBeHidden();
    await expect(page.locator('tbody tr').nth(0).locator('td.what a'), 'the focus comes back').toBeFocused();
  });

  await test.step('select, all that match, replay', async () => {
    house.provider.broken = false;
    await keyboard.press('x');
    await expect(page.locator('.bulk')).toContainText('1 selected');
    await tabTo(/^Select all 4 that match$/);
    await keyboard.press('Enter');
    await expect(page.locator('.bulk')).toContainText('All 4 that match are selected');
    await keyboard.press('Escape');
    await expect(page.locator('.bulk'), 'Escape takes the selection back').toBeHidden();
    await keyboard.press('j');
    await keyboard.press('x');
    await tabTo(/^Select all 4 that match$/);
    await keyboard.press('Enter');
    await keyboard.press('r');
    await expect(page.getByRole('dialog', { name: 'Replay 4 records' })).toBeVisible();
    await tabTo(/^Start, send 4$/);
    await keyboard.press('Enter');
    await expect(page.locator('h1')).toHaveText('Replays');
    await expect(page.locator('tbody tr').first()).toContainText('done', { timeout: 20_000 });
  });

  await test.step('discard the rest, one undone', async () => {
    await page.locator('.brand').focus();
    await tabTo(/^Pending/);
    await keyboard.press('Enter');
    await expect(page.locator('tbody tr')).toHaveCount(2);
    await expect(page.locator('main'), 'the focus is where the page begins').toBeFocused();
    await keyboard.press('j');
    await keyboard.press('d');
    await expect(page.locator('tbody tr')).toHaveCount(1);
    await expect(page.locator('.undo')).toContainText('1 record discarded');
    await keyboard.press('u');
    await expect(page.locator('tbody tr')).toHaveCount(2);
    await keyboard.press('j');
    await keyboard.press('d');
    await expect(page.locator('tbody tr')).toHaveCount(1);
    await keyboard.press('j');
    await keyboard.press('d');
    await expect(page.locator('main')).toContainText('Nothing waits for a decision');
  });
  await expectWrittenBack(house, ids);
  watch.expectNone();
});

test('a record is edited and sent under another key', async ({ page, house, watch }) => {
  await ready(page, house);
  await burst(house, 'content', 1);
  await crossing(page, () => page.locator('.side nav a[href="/pending"]').click());
  await page.locator('tbody tr a').first().click();
  const record = page.locator('aside.record');
  await record.getByRole('button', { name: 'Edit and replay…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Edit and replay' });
  const send = dialog.getByRole('button', { name: 'Send' });
  await expect(send, 'unchanged is no edit').toBeDisabled();
  await dialog.getByLabel('Payload').fill('{"tile":');
  await expect(dialog).toContainText('The old payload was JSON; this is not.');
  await dialog.getByLabel('Payload').fill('{"tile": 12345678901234567890}');
  house.provider.broken = false;
  await send.click();
  await expect(dialog).toBeHidden();
  await pendingAre(house.penstock, 0);
  await expect(badge(page, '/pending')).toHaveText('');
  watch.expectNone();
});

test('a breaker is tripped with a reason and an end, seen everywhere, and reset', async ({ page, house, watch }) => {
  await ready(page, house);
  await page.locator('.side nav a[href="/breakers"]').click();
  const card = page.locator('article#vision');
  await card.getByRole('button', { name: 'Trip…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Trip vision' });
  await expect(dialog.getByLabel('Reason')).toBeFocused();
  await dialog.getByRole('button', { name: 'Trip it' }).click();
  await expect(dialog, 'a reason is needed').toContainText('Say why: the next person will want to know.');
  await dialog.getByLabel('Reason').fill("it's maintenance");
  await dialog.getByLabel('For').selectOption('5 minutes');
  await dialog.locator('summary').click();
  await expect(dialog.locator('pre')).toContainText(`"for_s":300`);
  await dialog.getByRole('button', { name: 'Trip it' }).click();
  await expect(dialog).toBeHidden();
  await expect(card).toContainText('held open');
  await expect(card.locator('q')).toHaveText("it's maintenance");
  await expect(card.locator('.countdown').first()).toHaveText(/^0?[45]:\d\d$/);
  await expect(card.locator('.history li').first()).toContainText('tripped by hand');
  await expect(badge(page, '/breakers')).toHaveText('1 open');

  const refused = await house.penstock.call('vision', '/v1/ok', {}, { 'penstock-wait': '1' });
  expect(refused.status).toBe(503);
  expect(refused.headers.get('penstock-refused')).toBe('breaker');

  await page.locator('.side nav a[href="/"]').click();
  await expect(page.locator('main')).toContainText('Tripped by hand');
  await page.locator('.todo-list').getByRole('link', { name: 'Why' }).click();
  await expect(page).toHaveURL(/\/breakers#vision$/);
  await card.getByRole('button', { name: 'Reset…' }).click();
  await page.getByRole('dialog', { name: 'Reset vision' }).getByRole('button', { name: 'Reset it' }).click();
  await expect(card).toContainText('not set');
  await expect(badge(page, '/breakers')).toHaveText('');
  expect((await house.penstock.call('vision', '/v1/ok', {})).status).toBe(200);
  watch.expectNone();
});

test('a breaker opens by itself when the provider fails, and closes when it is mended', async ({ page, house, watch }) => {
  const config = upstream(house.provider.url, { breaker: { failure_rate: 0.3, min_samples: 4, open_s: 2, window_s: 10 } });
  await addUpstream(house.penstock, 'vision', config);
  await open(page, `${house.penstock.url}/breakers`);
  const card = page.locator('article#vision');
  await expect(card.getByRole('img', { name: 'State diagram: closed, open, half-open. Now closed.' })).toBeVisible();
  for (let n = 0; n < 8; n += 1) await house.penstock.call('vision', '/v1/down', {}, { 'penstock-wait': '1' });
  await expect(card.locator('.history')).toContainText('opened');
  await expect(card.locator('.history')).toContainText(/calls failed|in a row failed/);
  house.provider.broken = false;
  await expect
    .poll(async () => {
      await house.penstock.call('vision', '/v1/ok', {}, { 'penstock-wait': '1' });
      return card.getByRole('img', { name: /Now closed/ }).isVisible();
    }, { timeout: 20_000 })
    .toBe(true);
  await expect(card.locator('.history')).toContainText('closed');
  watch.expectNone();
});

test('a quota is added, tested, edited with a fault shown and a difference told, and rolled back', async ({ page, house, watch }) => {
  await open(page, `${house.penstock.url}/quotas`);
  await expect(page.locator('main')).toContainText('No upstream yet');
  await page.getByRole('link', { name: 'Add an upstream' }).first().click();
  await expect(page.locator('h1')).toHaveText('New upstream');
  await page.getByLabel('Name', { exact: true }).fill('Vision!');
  await expect(page.locator('#field-name-fault')).toContainText('1 to 64 of a-z');
  await page.getByLabel('Name', { exact: true }).fill('vision');
  await expect(page.locator('#field-name-fault')).toHaveText('');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await expect(page.getByLabel('Base URL'), 'the first fault gets the focus').toBeFocused();
  await page.getByLabel('Base URL').fill(house.provider.url);
  await page.getByLabel('Requests per minute').fill('1,500');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await expect(page).toHaveURL(/\/quotas\/vision$/);
  await expect(page.locator('h1')).toHaveText('vision');

  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await expect(page.locator('.tested')).toContainText('HTTP 200');

  const rate = page.getByLabel('Requests per minute');
  await expect(rate).toHaveValue('1500');
  const save = page.getByRole('button', { name: 'Save', exact: true });
  await expect(save, 'nothing to save').toBeDisabled();
  await rate.fill('0,5');
  await expect(page.locator('#field-quota-requests_per_minute-fault')).toContainText('Not a number');
  await expect(rate).toHaveAttribute('aria-invalid', 'true');
  await rate.fill('3k');
  await expect(page.locator('.saving .diff .old')).toContainText('1,500');
  await expect(page.locator('.saving .diff .new')).toContainText('3,000');
  await page.locator('#quota-reason').fill('the new plan');
  await save.click();
  const versions = page.locator('.versions li');
  await expect(versions).toHaveCount(2);
  await expect(versions.first()).toContainText('in force');
  await expect(versions.first()).toContainText('the new plan');
  expect((await house.penstock.api<{ version: number }>('GET', '/upstreams/vision')).version).toBe(2);

  await versions.nth(1).getByRole('button', { name: 'Roll back… v1' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back to v1' }).click();
  await expect(versions).toHaveCount(3);
  await expect(versions.first()).toContainText('rollback to v1');
  await expect(rate, 'the form shows what is in force').toHaveValue('1500');
  watch.expectNone();
});

test('an edit over somebody else\'s is refused, and nothing typed is lost', async ({ page, house, watch }) => {
  const config = upstream(house.provider.url);
  await addUpstream(house.penstock, 'vision', config);
  await open(page, `${house.penstock.url}/quotas/vision`);
  await page.getByLabel('Calls at once').fill('7');
  await house.penstock.api('PUT', '/upstreams/vision', {
    config: { ...config, quota: { concurrency: 9 } },
    expected_version: 1,
  });
  watch.allowed.push(/\b409\b/);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.locator('.saving')).toContainText('Load what is in force');
  await expect(page.getByLabel('Calls at once')).toHaveValue('7');
  await page.getByRole('link', { name: 'Load what is in force' }).click();
  await expect(page.getByLabel('Calls at once')).toHaveValue('9');
  watch.expectNone();
});

test('language and theme stay chosen', async ({ page, house, watch }) => {
  await ready(page, house);
  await page.getByRole('link', { name: 'Dark' }).click();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await page.getByRole('link', { name: '中文' }).click();
  await expect(page.locator('h1')).toHaveText('总览');
  await page.reload();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN');
  await crossing(page, () => page.locator('.side nav a[href="/quotas"]').click());
  await expect(page.locator('h1')).toHaveText('配额');
  await expect(page).toHaveTitle('配额 · Penstock');
  await page.getByRole('link', { name: 'EN', exact: true }).click();
  await expect(page.locator('h1')).toHaveText('Quotas');
  watch.expectNone();
});

test('what is done in one tab is seen in the other', async ({ page, context, house, watch }) => {
  await ready(page, house);
  await burst(house, 'down', 2);
  await crossing(page, () => page.locator('.side nav a[href="/pending"]').click());
  await expect(page.locator('tbody tr')).toHaveCount(2);
  const other = await context.newPage();
  await open(other, `${house.penstock.url}/pending`);
  await other.locator('tbody tr a').first().click();
  await other.locator('aside.record').getByRole('button', { name: 'Discard' }).click();
  await expect(other.locator('.undo')).toBeVisible();
  await expect(page.locator('tbody tr'), 'the first tab sees it').toHaveCount(1);
  await expect(badge(page, '/pending')).toHaveText('1');
  await other.locator('.undo').getByRole('button', { name: 'Undo' }).click();
  await expect(page.locator('tbody tr')).toHaveCount(2);
  await expect(badge(page, '/pending')).toHaveText('2');
  watch.expectNone();
});

test('when the server is away the page says so, and is live again when it is back', async ({ page, house, watch }) => {
  await ready(page, house);
  await burst(house, 'down', 2);
  await crossing(page, () => page.locator('.side nav a[href="/pending"]').click());
  await expect(page.locator('tbody tr')).toHaveCount(2);
  watch.allowed.push(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|\/events/);
  const live = page.locator('.live');
  await house.penstock.restart(async () => {
    await expect(live).toHaveText('Reconnecting');
    await expect(page.locator('tbody tr'), 'what was seen is still there').toHaveCount(2);
  });
  await expect(live).toHaveText('Live', { timeout: 20_000 });
  await expect(page.locator('tbody tr'), 'nothing was lost').toHaveCount(2);
  await burst(house, 'content', 1);
  await expect(badge(page, '/pending')).toHaveText('3');
  await expect(page.locator('tbody tr')).toHaveCount(3);
  watch.expectNone();
});
