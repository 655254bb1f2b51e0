import { chromium } from '@playwright/test';
import { chromium as debian } from '../playwright.config.ts';
import { expect, test } from '../support/test.ts';

/** What the first page may weigh, everything included, in a browser that has never been here. */
const budget = 300_000;

interface Weighed {
  url: string;
  encoding: string;
  bytes: number;
}

for (const amount of ['empty', 'much'] as const) {
  test(`the first page is under ${budget / 1000} KB, with ${amount === 'empty' ? 'no' : amount} data`, async ({ houses }) => {
    const { penstock } = await houses(amount);
    // A browser of its own, so that nothing is warm: no cache, no compiled WebAssembly.
    const browser = await chromium.launch(debian);
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Network.enable');
    const heads = new Map<string, Weighed>();
    const open = new Set<string>();
    devtools.on('Network.requestWillBeSent', ({ requestId }) => open.add(requestId));
    devtools.on('Network.responseReceived', ({ requestId, response }) => {
      const encoding = Object.entries(response.headers).find(([name]) => name.toLowerCase() === 'content-encoding')?.[1];
      heads.set(requestId, { url: new URL(response.url).pathname, encoding: encoding ?? 'as it is', bytes: 0 });
      // The stream of events never ends; what it weighs is no part of the first page.
      if (response.mimeType === 'text/event-stream') open.delete(requestId);
    });
    devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      open.delete(requestId);
      const head = heads.get(requestId);
      if (head) head.bytes = encodedDataLength;
    });
    const live = page.waitForResponse('**/api/v1/events');
    await page.goto(`${penstock.url}/`);
    await live;
    await expect.poll(() => open.size, { message: 'everything has arrived' }).toBe(0);
    await browser.close();

    const weighed = [...heads.values()].filter(({ bytes }) => bytes > 0).sort((a, b) => b.bytes - a.bytes);
    const total = weighed.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { url, encoding, bytes } of weighed) console.log(`${String(bytes).padStart(8)}  ${encoding.padEnd(8)}  ${url}`);
    console.log(`${String(total).padStart(8)}  first page, ${amount} data (budget ${budget})`);
    test.info().annotations.push({ type: 'bytes', description: String(total) });
    const wasm = weighed.find(({ url }) => url.endsWith('.wasm'));
    expect(wasm?.encoding, 'the WebAssembly is counted, and compressed').toBe('br');
    expect(total).toBeLessThan(budget);
  });
}
