import { defineConfig } from '@playwright/test';

/** Debian's Chromium: Playwright's own browsers are never downloaded. */
export const chromium = {
  executablePath: '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
};

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  fullyParallel: true,
  forbidOnly: Boolean(process.env['CI']),
  // Each worker is a browser, and up to three servers: more than two only take each other's time.
  workers: 2,
  // A machine that stalls for a moment is told apart from a fault: a test that passes only at its second try is named flaky.
  retries: process.env['CI'] ? 1 : 0,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: [['list']],
  use: {
    browserName: 'chromium',
    launchOptions: chromium,
    // A zone that is not UTC: a page that takes the server's times for the reader's shows it.
    timezoneId: 'Asia/Shanghai',
    locale: 'en-GB',
    screenshot: 'only-on-failure',
  },
});
