import { type Page, expect } from '@playwright/test';

/** Collects what must not happen on a page: messages in the browser's console, exceptions, requests that failed. */
export class Watch {
  readonly faults: string[] = [];
  /** What a test expects to go wrong, and is then not a fault. */
  readonly allowed: RegExp[] = [];

  constructor(page: Page) {
    page.on('console', (message) => {
      if (['error', 'warning', 'assert'].includes(message.type())) {
        this.note(`console ${message.type()}: ${message.text()} (${message.location().url})`);
      }
    });
    page.on('pageerror', (error) => this.note(`exception: ${error.message}`));
    page.on('requestfailed', (request) => {
      // A page that is left takes its stream of events with it.
      const left = request.url().endsWith('/api/v1/events') && request.failure()?.errorText === 'net::ERR_ABORTED';
      if (!left) this.note(`request failed: ${request.method()} ${request.url()} ${request.failure()?.errorText}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 400) this.note(`answer ${response.status()}: ${response.url()}`);
    });
  }

  private note(fault: string): void {
    if (!this.allowed.some((allowed) => allowed.test(fault))) this.faults.push(fault);
  }

  expectNone(): void {
    expect(this.faults, 'nothing went wrong in the browser').toEqual([]);
  }
}

/** Opens a page and waits until it is live: hydrated, and connected to the stream of events. */
export async function open(page: Page, to: string): Promise<void> {
  const connected = page.waitForResponse('**/api/v1/events');
  await page.goto(to);
  await connected;
  await page.evaluate(() => document.fonts.ready);
}

/** Follows a link to a page of the other module: the browser loads it, and it is live again. */
export async function crossing(page: Page, follow: () => Promise<void>): Promise<void> {
  const connected = page.waitForResponse('**/api/v1/events');
  await follow();
  await connected;
}

/**
 * Pages that come in one WebAssembly module: the router follows the links between them. Between two modules the browser
 * loads the page.
 */
const together = [
  ['/', '/breakers'],
  ['/pending', '/replays', '/quotas', '/engines', '/sources', '/audit'],
];

/** Proves that the page is hydrated: a link of the navigation to another page of its module leads on without a load. */
export async function expectHydrated(page: Page): Promise<void> {
  const at = `/${new URL(page.url()).pathname.split('/')[1] ?? ''}`;
  const module = together.find((paths) => paths.includes(at)) ?? together[0];
  const to = module?.find((path) => path !== at) ?? '/';
  await page.evaluate(() => Object.assign(window, { sameDocument: true }));
  await page.locator(`nav a[href="${to}"]`).first().click();
  await page.waitForURL(`**${to}`);
  await expect(page.locator(`nav a[href="${to}"]`).first()).toHaveAttribute('aria-current', 'page');
  expect(await page.evaluate(() => 'sameDocument' in window), 'the page was not loaded anew').toBe(true);
}

/** Nothing stands out to the right of the window. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const wide = await page.evaluate(() => {
    const room = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= room) return [];
    const scrolls = (element: Element | null): boolean =>
      element !== null &&
      element !== document.documentElement &&
      (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    return [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > room + 0.5 && !scrolls(element.parentElement))
      .map((element) => `${element.tagName}.${element.getAttribute('class')}`)
      .slice(0, 8);
  });
  expect(wide, 'nothing is wider than the window').toEqual([]);
  const [scroll, room] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  expect(scroll, 'the document does not scroll sideways').toBeLessThanOrEqual(room ?? 0);
}
