/**
 * Measures the dashboard in Chromium: the first load, pages and filters of a zone with 100 000 records, frames while 10 000
 * edits are pending, and what ten open dashboards cost others who use the API.
 */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { median } from '../median.js';
import { stop } from '../processes.js';
import { type Running, startProgram } from '../program.js';
import { writeZone, ZONE } from '../workload.js';
import type { Figures } from '../writes.js';
import { busyDuring, enterProfile, startBrowser, timeOf, timeToOpen } from './browser.js';
import { measureNeighbours } from './neighbours.js';

/** Host names, of which each has 1.7 records. */
const NAMES = 58_824;
const REPEATS = 9;

interface Measured {
  readonly browser: Browser;
  readonly origin: string;
  readonly running: Running;
}

/** Milliseconds; medians of several tries, unless they say longest or 99th percentile. */
export async function measureWeb(directory: string, port: number, taskset: boolean): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'web-'));
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, NAMES);
  const running = await startProgram(own, zoneFile, port, taskset ? 0 : undefined);
  try {
    const browser = await startBrowser();
    try {
      const measured = { browser, running, origin: `http://127.0.0.1:${port + 1}` };
      return {
        ...(await measureLoads(measured)),
        ...(await measureRecords(measured)),
        ...(await measureEdits(measured)),
        ...(await measureReview(measured)),
        ...(await measureNeighbours(measured)),
      };
    } finally {
      await browser.close();
    }
  } finally {
    running.api.close();
    await stop(running.server);
  }
}

const FILLED = `document.querySelectorAll('table.records .row-name').length > 0`;
const RECORDS = `/zones/${ZONE}/records`;

/** Screens by their address, and when they can be used. */
const SCREENS: Readonly<Record<string, string>> = {
  '/overview': `document.querySelector('.figures')`,
  '/zones': `document.querySelector('tbody a.name')`,
  [RECORDS]: FILLED,
};

async function measureLoads({ browser, origin }: Measured): Promise<Figures> {
  const figures: Record<string, number> = {};
  for (const [path, usable] of Object.entries(SCREENS)) {
    const first: number[] = [];
    const again: number[] = [];
    for (let i = 0; i < REPEATS; i++) {
      const profile = await enterProfile(browser, origin);
      const page = await profile.newPage();
      first.push(await timeToOpen(page, origin + path, usable));
      again.push(await timeToOpen(page, origin + path, usable));
      await profile.close();
    }
    figures[`${path}, first load, ms`] = median(first);
    figures[`${path}, loaded again, ms`] = median(again);
  }
  return figures;
}

const SETTLED = `document.querySelector('section.table')?.getAttribute('aria-busy') === 'false'`;
const press = (selector: string): string => `document.querySelector(${JSON.stringify(selector)}).click()`;
const type = (selector: string, text: string): string => `
  const field = document.querySelector(${JSON.stringify(selector)});
  field.value = ${JSON.stringify(text)};
  field.dispatchEvent(new Event(field.matches('select') ? 'change' : 'input', { bubbles: true }))`;
const SEARCH = 'input[type=search]';
const TYPES = '.tools select';
const counted = (text: string): string =>
  `${SETTLED} && document.querySelector('.paging')?.textContent.includes(${JSON.stringify(text)})`;
const sorted = (path: string): string => press(`thead a[href*="${path}"]`);

/** Each from the list as it is when it is opened. */
const ACTIONS: Readonly<Record<string, readonly [action: string, done: string]>> = {
  'next page': [press('[aria-label="Next page"]'), counted('101–200 of')],
  'page 500': [
    `history.pushState(null, '', '?page=500'); dispatchEvent(new Event('popstate'))`,
    counted('49,901–50,000 of'),
  ],
  'filter by type': [type(TYPES, 'CNAME'), counted('of 3 records')],
  'search for a name': [type(SEARCH, 'h4711'), counted('of 19 records')],
  'search for an address': [type(SEARCH, '10.0.18.103'), counted('1 record')],
  'sort backwards': [
    `globalThis.first = document.querySelector('.row-name').id; ${sorted('direction=desc')}`,
    `document.querySelector('.row-name').id !== globalThis.first`,
  ],
};

async function measureRecords({ browser, origin }: Measured): Promise<Figures> {
  const profile = await enterProfile(browser, origin);
  const page = await profile.newPage();
  const figures: Record<string, number> = {};
  for (const [what, [action, done]] of Object.entries(ACTIONS)) {
    const times: number[] = [];
    for (let i = 0; i < REPEATS; i++) {
      await timeToOpen(page, origin + RECORDS, `${FILLED} && document.querySelectorAll('.tools option').length > 10`);
      times.push(await timeOf(page, action, done));
    }
    figures[`100 000 records, ${what}, ms`] = median(times);
  }
  await profile.close();
  return figures;
}

/** Eleven thousand A records of names that begin with h2. */
const MANY = `${RECORDS}?search=h2&type=A`;

async function measureEdits({ browser, origin }: Measured): Promise<Figures> {
  const profile = await enterProfile(browser, origin);
  const page = await profile.newPage();
  await page.goto(origin + MANY);
  const figures: Record<string, number> = {};
  for (const [what, work] of Object.entries(stepsOf(page))) {
    const { frameMs, taskMs } = await busyDuring(page, work);
    figures[`edits: ${what}, longest frame, ms`] = frameMs;
    figures[`edits: ${what}, longest task, CPU ms`] = taskMs;
  }
  figures['edits pending'] = Number((await page.getByText(/edits are not saved/).textContent())!.replaceAll(/\D/g, ''));
  await profile.close();
  return figures;
}

/** Checking all A records of the zone means some 17 dry runs. */
async function measureReview({ browser, origin }: Measured): Promise<Figures> {
  const profile = await enterProfile(browser, origin);
  profile.setDefaultTimeout(REVIEW_LIMIT_MS);
  const page = await profile.newPage();
  await page.goto(`${origin}${RECORDS}?type=A`);
  await selectAll(page);
  await page.getByLabel('TTL of the selected').selectOption({ label: '5 minutes' });
  const edits = Number((await page.getByText(/edits are not saved/).textContent())!.replaceAll(/\D/g, ''));
  const began = performance.now();
  await page.getByRole('button', { name: 'Review and save' }).click();
  await page.getByRole('region', { name: 'Difference for resolvers' }).waitFor();
  const ms = performance.now() - began;
  await profile.close();
  return { 'edits reviewed': edits, 'until they are reviewed, ms': ms };
}

const REVIEW_LIMIT_MS = 300_000;

async function selectAll(page: Page): Promise<void> {
  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: /Select all/ }).click();
  // The button goes when everything is selected.
  await page.getByRole('button', { name: /Select all|Reading/ }).waitFor({ state: 'detached' });
}

/** In this order. The first ones make the edits. */
function stepsOf(page: Page): Readonly<Record<string, () => Promise<unknown>>> {
  const pause = (): Promise<void> => page.waitForTimeout(300);
  return {
    'all are selected': async () => {
      await selectAll(page);
    },
    'made of all that are selected': async () => {
      await page.getByLabel('TTL of the selected').selectOption({ label: '5 minutes' });
      await page.getByText('11,111 edits are not saved').waitFor();
      await pause();
    },
    'a row is opened': async () => {
      await page.locator('.row-name').nth(3).click();
      await page.getByRole('form').waitFor();
    },
    'text is typed into its form': async () => {
      await page.getByLabel('Comment').pressSequentially('a comment that takes a while', { delay: 30 });
    },
    'the edit is kept': async () => {
      await page.getByRole('button', { name: 'Keep the edit' }).click();
      await page.getByRole('form').waitFor({ state: 'detached' });
      await pause();
    },
    'the last one is undone': async () => {
      await page.keyboard.press('Control+z');
      await pause();
    },
    'next page': async () => {
      await page.getByLabel('Next page').click();
      await page.getByText('101–200 of').waitFor();
      await pause();
    },
    'text is searched': async () => {
      await page.getByLabel('Search records').press('End');
      await page.getByLabel('Search records').pressSequentially('22', { delay: 120 });
      await page.getByText('of 111 records').waitFor();
      await pause();
    },
    'the page is scrolled': async () => {
      for (let i = 0; i < 15; i++) {
        await page.mouse.wheel(0, 250);
        await page.waitForTimeout(20);
      }
    },
    'they are reviewed': async () => {
      await page.getByRole('button', { name: 'Review and save' }).click();
      await page.getByRole('region', { name: 'Difference for resolvers' }).waitFor();
      await page.keyboard.press('Escape');
      await pause();
    },
  };
}
