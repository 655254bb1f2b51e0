import { setTimeout as pause } from 'node:timers/promises';
import type { Json, Penstock } from './penstock.ts';

/**
 * Asks until the answer is yes. `expect.poll` would do, but it gives up without a word when the test changes meanwhile, and
 * data is made while tests run.
 */
async function until(what: string, asked: () => Promise<boolean>, seconds = 60): Promise<void> {
  const end = Date.now() + seconds * 1_000;
  while (!(await asked())) {
    if (Date.now() > end) throw new Error(`${what}: not within ${seconds} s`);
    await pause(100);
  }
}

/**
 * An upstream's configuration that decides at once: no retries, nothing put off, and a breaker that stays out of the
 * way unless a test wants one.
 */
export function upstream(baseUrl: string, changes: Json = {}): Json {
  return {
    base_url: baseUrl,
    profile: 'openai',
    quota: { requests_per_minute: 60_000, concurrency: 32, judged_window_s: 1, safety: 1 },
    retry: { max_retries: 0, defer_max_s: 0, base_s: 0.05 },
    breaker: { failure_rate: 1, min_samples: 100_000, quick: false },
    ...changes,
  };
}

export async function addUpstream(penstock: Penstock, name: string, config: Json): Promise<void> {
  await penstock.api('PUT', `/upstreams/${name}`, { config, reason: 'for the test' });
}

/** How many open records a filter matches. */
export async function pendingCount(penstock: Penstock, query = ''): Promise<number> {
  const page = await penstock.api<{ total: { n: number } }>('GET', `/pending${query}`);
  return page.total.n;
}

/** Waits until the charts have something to show: figures are gathered over ten seconds before they are kept. */
async function chartsHave(penstock: Penstock, name: string): Promise<void> {
  const points = async () => (await penstock.api<{ points: { accepted: number }[] }>('GET', `/series?upstream=${name}`)).points;
  await until(`the charts of ${name} have figures`, async () => (await points()).some((point) => point.accepted > 0));
}

/** Waits until so many records are pending. */
export async function pendingAre(penstock: Penstock, n: number): Promise<void> {
  await until(`${n} records are pending`, async () => (await pendingCount(penstock)) === n);
}

const record = (name: string, path: string, n: number, extra: Json = {}): Json => ({
  upstream: name,
  path: `/v1/${path}`,
  idempotency_key: `${name}-${path}-${n}`,
  body: { n },
  ...extra,
});

/** A sample of a system that limits by itself, of the window that ended so many seconds ago. */
const sample = (source: string, upstream: string, ago: number, extra: Json = {}): Json => ({
  source,
  upstream,
  at: new Date(Date.now() - ago * 1_000).toISOString(),
  window_s: 10,
  requests: 70,
  accepted: 52 + (ago % 7),
  refused_locally: 4,
  failures: { timeout: ago % 3, rate_limited: 1 },
  queue_depth: 31,
  latency_ms: { p50: 900, p95: 2_400, p99: 4_100 },
  limiter: { rate: 6.5, burst: 13, tokens_left: 3.5 },
  breaker: 'closed',
  ...extra,
});

/** A record that failed at such a system. */
const failedThere = (source: string, upstream: string, n: number, extra: Json = {}): Json => ({
  source,
  upstream,
  payload: { tile: `18/${n}/7` },
  idempotency_key: `${source}-${n}`,
  error_class: 'timeout',
  message: 'no answer in 30 s',
  ...extra,
});

const tens = Array.from({ length: 80 }, (_, n) => 10 * n + 5);

/** A source on time, one that is late, and one that sends records alone. */
async function someSources(penstock: Penstock): Promise<void> {
  await penstock.api('POST', '/ingest/metrics', tens.map((ago) => sample('flow-east', 'vision', ago)));
  const late = tens.map((ago) => sample('批处理-2', 'chat', ago + 95, { engine: 'e-1', breaker: 'half_open' }));
  await penstock.api('POST', '/ingest/metrics', late);
  await penstock.api('POST', '/ingest/pending', [1, 2, 3].map((n) => failedThere('hook-7', 'vision', n)));
  const ahead = new Date(Date.now() + 600_000).toISOString();
  await penstock.api('POST', '/ingest/metrics', [sample('flow-east', 'vision', 0, { at: ahead })]).catch(() => undefined);
}

/** A working day: two upstreams, one of each kind of failure, a breaker held open, a replay that is over. */
export async function someData(penstock: Penstock, baseUrl: string, mend: (broken: boolean) => void): Promise<void> {
  await addUpstream(penstock, 'vision', upstream(baseUrl));
  await addUpstream(penstock, 'chat', upstream(baseUrl));
  const kinds = ['down', 'content', 'bad', 'key', 'limit', 'slow'];
  await penstock.submit(kinds.flatMap((kind) => [1, 2, 3].map((n) => record('vision', kind, n, { engine: `fme-${n}` }))));
  await penstock.submit([record('chat', 'ok', 1), record('chat', 'ok', 2), record('chat', 'down', 1)]);
  await pendingAre(penstock, 19);
  mend(false);
  await penstock.api('POST', '/replays', { filter: { error_class: 'server_error', upstream: 'chat' } });
  const replays = () => penstock.api<{ state: string }[]>('GET', '/replays');
  await until('the replay is over', async () => (await replays())[0]?.state === 'done');
  mend(true);
  await penstock.api('POST', '/breakers/chat/trip', { reason: '服务商维护', for_s: 3_600 });
  await penstock.submit([record('chat', 'ok', 3)]);
  await penstock.api('POST', '/engines/fme-1/report', { upstream: 'vision', queue_depth: 12, completed: 3 });
  const { key } = await penstock.api<{ key: { id: string } }>('POST', '/keys', { name: 'flow-engines' });
  await penstock.api('DELETE', `/keys/${key.id}`);
  await penstock.api('POST', '/keys', { name: '巡检主机' });
  await someSources(penstock);
  await chartsHave(penstock, 'chat');
}

const word = 'x'.repeat(180);

/** Everything there can be too much of: records, upstreams, versions, replays; long names, long words, long messages. */
export async function muchData(penstock: Penstock, baseUrl: string, mend: (broken: boolean) => void): Promise<void> {
  const long = `${'very-long-upstream-name-'.repeat(3)}end`.slice(0, 64);
  const names = [long, 'vision', 'chat', ...Array.from({ length: 21 }, (_, n) => `regional-endpoint-${n}`)];
  for (const name of names) await addUpstream(penstock, name, upstream(baseUrl));
  const kinds = ['down', 'content', 'bad', 'key', 'limit', 'slow'];
  const messages = [
    `一张很长的图片说明 ${'图像被安全系统拒绝，'.repeat(40)}`,
    `https://provider.example/${word}?${word}`,
    `tile ${'12/2048/1361 '.repeat(60)}`,
    '',
  ];
  const records = Array.from({ length: 3_000 }, (_, n) => {
    const name = names[n % 5] ?? 'vision';
    const kind = kinds[n % kinds.length] ?? 'down';
    return record(name, `${word}/${kind}`, n, {
      engine: n % 3 === 0 ? `engine-${word}`.slice(0, 128) : 'fme-1',
      idempotency_key: `${word}-${n}`,
      body: { say: messages[n % messages.length], n, filler: n === 0 ? 'y'.repeat(200_000) : '' },
    });
  });
  for (let at = 0; at < records.length; at += 1_000) await penstock.submit(records.slice(at, at + 1_000));
  await pendingAre(penstock, records.length);
  for (let n = 0; n < 25; n += 1) {
    const { version } = await penstock.api<{ version: number }>('GET', `/upstreams/${long}`);
    const config = upstream(baseUrl, { quota: { requests_per_minute: 6_000_000 + n, safety: 1 } });
    await penstock.api('PUT', `/upstreams/${long}`, { config, expected_version: version, reason: `${word} ${n}` });
  }
  for (const name of names.slice(0, 5)) {
    await penstock.api('POST', `/breakers/${name}/trip`, { reason: word, for_s: 86_400 });
  }
  for (let n = 0; n < 30; n += 1) {
    const engine = `engine-${n}-${word}`.slice(0, 128);
    await penstock.api('POST', `/engines/${engine}/report`, { upstream: long, queue_depth: 1_000_000 + n, completed: n });
    await penstock.api('POST', '/keys', { name: `${n} ${word}`.slice(0, 64) });
  }
  for (let n = 0; n < 12; n += 1) {
    const source = `source-${n}-${word}`.slice(0, 128);
    const engines = Array.from({ length: 8 }, (_, e) => sample(source, long, 5, { engine: `${e}-${word}`.slice(0, 128) }));
    await penstock.api('POST', '/ingest/metrics', engines);
    await penstock.api('POST', '/ingest/pending', [failedThere(source, long, n), failedThere(source, 'vision', n)]);
    const request = { method: 'POST', path: `/v1/${word}`, headers: {} };
    const callback_url = `https://hooks.example/${word}`;
    if (n % 2) await penstock.api('PUT', `/sources/${source}`, { requests: { [long]: request }, callback_url });
  }
  // Held by their breakers, these replays go on for as long as the test looks.
  for (const name of names.slice(0, 3)) {
    await penstock.api('POST', '/replays', { filter: { upstream: name, error_class: 'server_error', text: '一张很长的图片' } });
  }
  mend(true);
}
