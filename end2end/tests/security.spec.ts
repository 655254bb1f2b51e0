import type { Page } from '@playwright/test';
import { open } from '../support/console.ts';
import { addUpstream, pendingAre, upstream } from '../support/data.ts';
import { expect, test } from '../support/test.ts';

/** What a hostile upstream, file name or colleague could write. Each would leave its trace if it were ever run. */
const attacks = [
  '<img src=x onerror="window.hacked=1">',
  '<script>window.hacked=1</script>',
  '</script><script>window.hacked=1</script>',
  '"><svg onload=window.hacked=1>',
  "{{constructor.constructor('window.hacked=1')()}}",
  '<!--<script>',
];

interface Violation {
  directive: string;
  blocked: string;
}

/** Notes what the policy had to stop; also inline scripts before the first of ours runs. */
async function noteViolations(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const noted: { directive: string; blocked: string }[] = [];
    Object.assign(window, { violations: noted });
    document.addEventListener('securitypolicyviolation', (event) => {
      noted.push({ directive: event.effectiveDirective, blocked: event.blockedURI });
    });
  });
}

async function expectUnharmed(page: Page): Promise<void> {
  const { hacked, violations } = await page.evaluate(() => {
    const found = window as unknown as { hacked?: number; violations?: Violation[] };
    return { hacked: found.hacked ?? 0, violations: found.violations ?? [] };
  });
  expect(hacked, 'nothing foreign was run').toBe(0);
  expect(violations, 'the policy had nothing to stop').toEqual([]);
  expect(await page.locator('img[src="x"], svg[onload]').count(), 'nothing foreign is in the document').toBe(0);
}

test('the policy allows no inline script and no inline style', async ({ page, houses, watch }) => {
  const { penstock } = await houses('some');
  await noteViolations(page);
  for (const to of ['/', '/pending', '/replays', '/breakers', '/quotas', '/quotas/vision', '/quotas/new']) {
    const live = page.waitForResponse('**/api/v1/events');
    const answer = await page.goto(`${penstock.url}${to}`);
    await live;
    const policy = answer?.headers()['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe-inline');
    expect(policy.replaceAll("'wasm-unsafe-eval'", '')).not.toContain('unsafe-eval');
    expect(policy).toMatch(/script-src 'self' 'nonce-[^']{16,}'/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(answer?.headers()['x-content-type-options']).toBe('nosniff');
    await expectUnharmed(page);
    expect(await page.locator('[style]').count(), 'no element has a style of its own').toBe(0);
    const handlers = await page.evaluate(
      () => [...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => a.name.startsWith('on'))).length,
    );
    expect(handlers, 'no element has a handler of its own').toBe(0);
  }
  const nonces = new Set<string>();
  for (let n = 0; n < 3; n += 1) {
    const answer = await page.request.get(`${penstock.url}/breakers`);
    nonces.add(/'nonce-([^']+)'/.exec(answer.headers()['content-security-policy'] ?? '')?.[1] ?? '');
  }
  expect(nonces.size, 'each answer has a nonce of its own').toBe(3);
  watch.expectNone();
});

test('what an upstream, a filter or an operator writes is shown as text', async ({ page, house, watch }) => {
  const { penstock, provider } = house;
  await noteViolations(page);
  await addUpstream(penstock, 'vision', upstream(provider.url));
  await penstock.submit(
    attacks.map((attack, n) => ({
      upstream: 'vision',
      path: `/v1/${encodeURIComponent(attack)}/content`,
      engine: attack,
      idempotency_key: `key-${n}`,
      body: { say: attack, prompt: attack },
    })),
  );
  await pendingAre(penstock, attacks.length);
  await penstock.api('POST', '/breakers/vision/trip', { reason: attacks.join(' '), for_s: 600 });
  await penstock.api('POST', '/replays', { filter: { text: 'window hacked' } });
  const { version } = await penstock.api<{ version: number }>('GET', '/upstreams/vision');
  await penstock.api('PUT', '/upstreams/vision', {
    config: upstream(provider.url, { quota: { concurrency: 3 } }),
    expected_version: version,
    reason: attacks[1],
  });
  await penstock.submit([{ upstream: 'vision', path: '/v1/ok', body: {} }]);

  await test.step('in the list and in the record, loaded and navigated to', async () => {
    await open(page, `${penstock.url}/pending?disposition=replaying`);
    await expect(page.locator('tbody tr')).not.toHaveCount(0);
    for (const attack of attacks.slice(0, 2)) await expect(page.locator('tbody')).toContainText(attack);
    await expectUnharmed(page);
    await page.locator('tbody tr a').first().click();
    await expect(page.locator('aside.record h2')).toContainText(/hacked|script/);
    await expectUnharmed(page);
    await page.reload();
    await expect(page.locator('aside.record h2')).toContainText(/hacked|script/);
    await expectUnharmed(page);
  });

  await test.step('in a filter', async () => {
    for (const attack of attacks) {
      await open(page, `${penstock.url}/pending?text=${encodeURIComponent(attack)}&upstream=${encodeURIComponent(attack)}`);
      await expect(page.getByRole('searchbox')).toHaveValue(attack);
      await expect(page.locator('.chips')).toContainText(attack);
      await expectUnharmed(page);
    }
  });

  // Addresses that name nothing answer so.
  watch.allowed.push(/\b404\b/);
  await test.step('in a reason, a history, a mark on the time axis, a version', async () => {
    await open(page, `${penstock.url}/breakers`);
    await expect(page.locator('article#vision q')).toHaveText(attacks.join(' '));
    await expectUnharmed(page);
    await open(page, `${penstock.url}/?upstream=${encodeURIComponent(attacks[0] ?? '')}`);
    await expectUnharmed(page);
    await open(page, `${penstock.url}/replays`);
    await expect(page.locator('main')).toContainText('window hacked');
    await expectUnharmed(page);
    await open(page, `${penstock.url}/quotas/vision`);
    await expect(page.locator('.versions')).toContainText(attacks[1] ?? '');
    await expectUnharmed(page);
  });

  await test.step('in an address', async () => {
    for (const attack of attacks) {
      for (const to of ['/pending/', '/quotas/', '/']) {
        await page.goto(`${penstock.url}${to}${encodeURIComponent(attack)}`);
        await expect(page.locator('h1')).toBeVisible();
        await expectUnharmed(page);
      }
    }
  });
  watch.expectNone();
});

test('another site can neither read nor do anything', async ({ page, houses }) => {
  const { penstock, provider } = await houses('some');
  // A page of another origin: the provider's, which is another port and so another site to the checks.
  await page.goto(`${provider.url}/`);
  const tried = await page.evaluate(async (url) => {
    const attempt = async (to: string, init: RequestInit) => {
      try {
        return (await fetch(url + to, { mode: 'no-cors', ...init })).type;
      } catch {
        return 'refused';
      }
    };
    return [
      await attempt('/api/v1/breakers/vision/trip', {
        method: 'POST',
        headers: { 'content-type': 'text/plain' },
        body: '{"reason":"mine","for_s":60}',
      }),
      await attempt('/api/v1/overview', {}),
    ];
  }, penstock.url);
  expect(tried).toHaveLength(2);
  const breakers = await penstock.api<{ id: string; forced: unknown }[]>('GET', '/breakers');
  expect(breakers.find(({ id }) => id === 'vision')?.forced, 'the breaker was not touched').toBeNull();
});
