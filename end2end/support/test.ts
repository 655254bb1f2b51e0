import { test as base } from '@playwright/test';
import { muchData, someData } from './data.ts';
import { Watch } from './console.ts';
import { Penstock } from './penstock.ts';
import { Provider } from './provider.ts';

/** How full the store is. */
export const amounts = ['empty', 'some', 'much'] as const;
export type Amount = (typeof amounts)[number];

export type Lang = 'en' | 'zh';
export type Theme = 'light' | 'dark';

/** A running program and the provider behind it. */
export interface House {
  penstock: Penstock;
  provider: Provider;
}

interface ForTests {
  /** What goes wrong in the browser; checked by the tests themselves, and once more at their end. */
  watch: Watch;
  /** A program of the test's own, without upstreams. */
  house: House;
}

interface ForWorkers {
  /** Programs that tests only look at: made once for a worker. */
  houses: (amount: Amount) => Promise<House>;
  /** A program with a password. */
  locked: Penstock;
}

async function build(amount: Amount): Promise<House> {
  const [penstock, provider] = await Promise.all([Penstock.start(), Provider.start()]);
  const mend = (broken: boolean) => (provider.broken = broken);
  if (amount === 'some') await someData(penstock, provider.url, mend);
  if (amount === 'much') await muchData(penstock, provider.url, mend);
  return { penstock, provider };
}

async function close(house: House): Promise<void> {
  await house.penstock.stop();
  await house.provider.stop();
}

export const password = 'correct horse';

export const test = base.extend<ForTests, ForWorkers>({
  watch: async ({ page }, use) => {
    const watch = new Watch(page);
    await use(watch);
    watch.expectNone();
  },
  house: async ({}, use) => {
    const house = await build('empty');
    await use(house);
    await close(house);
  },
  houses: [
    async ({}, use) => {
      // All at once: what needs time to fill is ready by the time that it is asked for.
      const built = new Map(amounts.map((amount) => [amount, build(amount)]));
      for (const house of built.values()) house.catch(() => {});
      await use(async (amount) => (await built.get(amount)) ?? build(amount));
      for (const house of await Promise.allSettled(built.values())) {
        if (house.status === 'fulfilled') await close(house.value);
      }
    },
    { scope: 'worker', timeout: 120_000 },
  ],
  locked: [
    async ({}, use) => {
      const penstock = await Penstock.start({ password });
      await use(penstock);
      await penstock.stop();
    },
    { scope: 'worker' },
  ],
});

export { expect } from '@playwright/test';
