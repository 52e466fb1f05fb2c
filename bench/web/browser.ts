/**
 * Chromium for measurements of the dashboard: profiles that are signed in, and times and frames as the page itself sees them.
 */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { KEY } from '../program.js';

const CHROMIUM = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
const LIMIT_MS = 20_000;

/** Throws when there is no Chromium. */
export function startBrowser(): Promise<Browser> {
  if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is missing: apt-get install chromium`);
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
}

/** A browser profile without a cache, signed in. `origin`: of the API. */
export async function enterProfile(browser: Browser, origin: string): Promise<BrowserContext> {
  const profile = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  const answer = await profile.request.post(`${origin}/client/v4/user/sessions`, {
    headers: { authorization: `Bearer ${KEY}` },
  });
  if (!answer.ok()) throw new Error(`signing in: ${await answer.text()}`);
  return profile;
}

/**
 * Milliseconds from the beginning of the navigation until `condition` (JavaScript) holds and the page has been drawn after it.
 */
export async function timeToOpen(page: Page, address: string, condition: string): Promise<number> {
  await page.goto(address, { waitUntil: 'commit' });
  return measured(page, `(done) => (${WHEN})(() => ${condition}, () => done(performance.now()))`);
}

/** Milliseconds from `action` until `condition` (both JavaScript) holds and the page has been drawn after it. */
export function timeOf(page: Page, action: string, condition: string): Promise<number> {
  return measured(
    page,
    `(done) => {
      const began = performance.now();
      ${action};
      (${WHEN})(() => ${condition}, () => done(performance.now() - began));
    }`,
  );
}

/** Calls back after the frame in which the condition holds for the first time. */
const WHEN = `(holds, run) => {
  const look = () => requestAnimationFrame(() => (holds() ? setTimeout(run) : look()));
  look();
}`;

async function measured(page: Page, work: string): Promise<number> {
  const found = page.evaluate(`new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('the page stays at ' + document.body.innerText.slice(-300))), ${LIMIT_MS});
    (${work})(resolve);
  })`);
  return Number(await found);
}

export interface Busy {
  /** The longest time between two frames. */
  readonly frameMs: number;
  /**
   * Processor time of the longest task of the page's main thread: what is left of the former on a machine that does nothing
   * else.
   */
  readonly taskMs: number;
}

/** How long a page was not able to react while `work` ran. */
export async function busyDuring(page: Page, work: () => Promise<unknown>): Promise<Busy> {
  const browser = page.context().browser()!;
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  const frameMs = await longestFrame(page, work);
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { readonly traceEvents: readonly TraceEvent[] };
  return { frameMs, taskMs: longestTask(trace.traceEvents) };
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of processor time. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

function longestTask(events: readonly TraceEvent[]): number {
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const main = new Set(
    events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain').map(threadOf),
  );
  const tasks = events.filter((event) => event.tdur !== undefined && main.has(threadOf(event)));
  if (tasks.length === 0) throw new Error('the trace has no tasks');
  return Math.max(...tasks.map(({ tdur }) => tdur!)) / 1000;
}

async function longestFrame(page: Page, work: () => Promise<unknown>): Promise<number> {
  await page.evaluate(`(() => {
    let last = performance.now();
    globalThis.longest = 0;
    globalThis.counting = true;
    const next = (now) => {
      globalThis.longest = Math.max(globalThis.longest, now - last);
      last = now;
      if (globalThis.counting) requestAnimationFrame(next);
    };
    requestAnimationFrame((now) => { last = now; requestAnimationFrame(next); });
  })()`);
  await work();
  return Number(
    await page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => {
      globalThis.counting = false;
      resolve(globalThis.longest);
    })))`),
  );
}
