import type { BrowserContext, Page } from '@playwright/test';
import { expectAccessible } from '../support/axe.ts';
import { type Watch, expectHydrated, expectNoSidewaysScroll, open } from '../support/console.ts';
import { type Place, places, plain } from '../support/pages.ts';
import { type Amount, type Lang, type Theme, amounts, expect, test } from '../support/test.ts';
import { expectChinese } from '../support/words.ts';

const langs: Lang[] = ['en', 'zh'];
const themes: Theme[] = ['light', 'dark'];
const tags: Record<Lang, string> = { en: 'en', zh: 'zh-CN' };
const widths = [1440, 390];

/** English readers let the system choose; the others have chosen, by cookies. So both ways are looked at. */
async function dress(page: Page, context: BrowserContext, url: string, lang: Lang, theme: Theme): Promise<void> {
  if (lang === 'en') return page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  const other = theme === 'dark' ? 'light' : 'dark';
  await page.emulateMedia({ colorScheme: other, reducedMotion: 'reduce' });
  await context.addCookies([
    { name: 'penstock_lang', value: lang, url },
    { name: 'penstock_theme', value: theme, url },
  ]);
}

/** The ground is light in a light theme, and dark in a dark one. */
async function expectTheme(page: Page, theme: Theme): Promise<void> {
  const brightness = await page.evaluate(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    if (!canvas) return -1;
    canvas.fillStyle = getComputedStyle(document.documentElement).backgroundColor;
    canvas.fillRect(0, 0, 1, 1);
    const [r = 0, g = 0, b = 0] = canvas.getImageData(0, 0, 1, 1).data;
    return (r + g + b) / 3;
  });
  if (theme === 'dark') expect(brightness).toBeLessThan(80);
  else expect(brightness).toBeGreaterThan(200);
}

async function look(page: Page, watch: Watch, url: string, place: Place, lang: Lang, theme: Theme): Promise<void> {
  await page.setViewportSize({ width: 1440, height: 900 });
  if (place.navigation) await open(page, url);
  else await page.goto(url, { waitUntil: 'load' });
  await expect(page.locator('html')).toHaveAttribute('lang', tags[lang]);
  await expect(page.locator('h1')).toHaveCount(1);
  const title = typeof place.title === 'function' ? place.title(new URL(url).pathname) : place.title[lang];
  await expect(page.locator('h1')).toHaveText(title);
  await expect(page).toHaveTitle(/ · Penstock$/);
  await expectTheme(page, theme);
  for (const width of widths) {
    await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
    await expectNoSidewaysScroll(page);
    await expectAccessible(page, `at ${width} px`);
  }
  if (lang === 'zh') await expectChinese(page);
  watch.expectNone();
  await page.setViewportSize({ width: 1440, height: 900 });
  if (place.navigation) await expectHydrated(page);
}

function pages(title: string, amount: Amount, some: Place[]): void {
  test.describe(title, () => {
    for (const place of some) {
      for (const lang of langs) {
        for (const theme of themes) {
          test(`${place.name}, ${lang}, ${theme}`, async ({ page, context, houses, watch }) => {
            const house = await houses(amount);
            const to = await place.path(house);
            // The page that is not there, and things that are not there, say so with their status too.
            if (to === '/no/such/page') watch.allowed.push(/\b404\b/);
            if (amount === 'empty' && ['record', 'quota'].includes(place.name)) watch.allowed.push(/\b404\b/);
            await dress(page, context, house.penstock.url, lang, theme);
            await look(page, watch, `${house.penstock.url}${to}`, place, lang, theme);
          });
        }
      }
    }
  });
}

for (const amount of amounts) pages(`with ${amount === 'empty' ? 'no' : amount} data`, amount, places);
pages('whatever there is', 'some', plain);

test.describe('signing in', () => {
  const door: Place = { name: 'sign in', path: async () => '/login', title: { en: 'Sign in', zh: '登录' }, navigation: false };
  for (const lang of langs) {
    for (const theme of themes) {
      test(`${lang}, ${theme}`, async ({ page, context, locked, watch }) => {
        await dress(page, context, locked.url, lang, theme);
        const scripts = page.waitForResponse(/\.wasm$/);
        await look(page, watch, `${locked.url}/pending`, door, lang, theme);
        expect(new URL(page.url()).pathname, 'whoever is not signed in is led to the door').toBe('/login');
        expect((await scripts).ok()).toBe(true);
      });
    }
  }
});
