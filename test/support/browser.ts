/**
 * The dashboard of the real program in a real browser. Whatever a page prints to its console as an error, throws, or loads
 * against the content security policy fails the test, and so does what axe-core calls serious or critical on a screen.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';
import { type Program, startProgram, stopProgram } from './program.js';

const CHROMIUM = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
/** Where pictures of the screens go, for people to look at; without it none are taken. */
const PICTURES = process.env['SCREENSHOTS'];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** What is looked for beside the usual rules, and is a fault whatever its impact is. */
const ALWAYS: readonly string[] = ['target-size', 'landmark-unique'];
/** Names of its rules about colours. */
const COLOURS = JSON.stringify(['color-contrast', 'link-in-text-block']);
const RULES = JSON.stringify(Object.fromEntries(ALWAYS.map((id) => [id, { enabled: true }])));
const KEY = 'dashboard-key-0123456789-0123456789-01234567';
const EMAIL = 'admin@localhost';

/** For the option `skip` of tests: why there is no browser; never with CI=true. */
export const noBrowser =
  process.env['CI'] === 'true' || existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing: apt-get install chromium`;

interface ApiAnswer {
  readonly success: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  readonly result: any;
}

export interface Dashboard extends Visitor {
  readonly program: Program;
  readonly directory: string;
  /** Of the first administrator. */
  readonly key: string;
  readonly email: string;
  /** A request to the API as the administrator. Throws when it is refused. */
  call(method: string, path: string, body?: unknown): Promise<ApiAnswer['result']>;
}

/** A browser that visits the dashboard of a program. */
export interface Visitor {
  readonly browser: Browser;
  /** A page in a browser profile of its own, not signed in. */
  open(path: string, options?: ProfileOptions): Promise<Page>;
  /** A page that is signed in with the administrator's key, or with a token. */
  enter(path: string, options?: ProfileOptions & { readonly token?: string }): Promise<Page>;
  /** Runs axe-core on what is shown, in light and dark; with SCREENSHOTS=DIRECTORY it also takes pictures under this name. */
  inspect(page: Page, name: string): Promise<void>;
}

export interface ProfileOptions {
  readonly width?: number;
}

/** Starts the program and the browser; both end with the test. */
export async function startDashboard(t: Test, environment: NodeJS.ProcessEnv = {}): Promise<Dashboard> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-dashboard-'));
  const program = await startProgram({ directory, key: KEY, environment });
  t.teardown(async () => {
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  const visitor = await startVisitor(t, program.api, KEY);
  const call: Dashboard['call'] = (method, path, body) => callApi(program.api, method, path, body);
  return { ...visitor, program, directory, key: KEY, email: EMAIL, call };
}

/** Starts the browser, which ends with the test. `api`: address of the program. `key`: of its administrator. */
export async function startVisitor(t: Test, api: string, key: string): Promise<Visitor> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  t.teardown(() => browser.close());
  const open = async (path: string, { width = 1280 }: ProfileOptions = {}): Promise<Page> => {
    const profile = await browser.newContext({ viewport: { width, height: 860 }, reducedMotion: 'reduce' });
    await profile.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: api });
    // Other browsers may be at work on the same processors.
    profile.setDefaultTimeout(60_000);
    const page = await profile.newPage();
    failOnErrors(t, page);
    await page.goto(api + path);
    return page;
  };
  return {
    browser,
    open,
    async enter(path, { token, ...options } = {}) {
      const page = await open('/sign-in', options);
      await signIn(page.context(), api, token ?? key);
      await page.goto(api + path);
      return page;
    },
    inspect: (page, name) => inspect(t, page, name),
  };
}

/** As the page does it, without typing. */
async function signIn(profile: BrowserContext, api: string, token: string): Promise<void> {
  const answer = await profile.request.post(`${api}/client/v4/user/sessions`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (!answer.ok()) throw new Error(`signing in: ${await answer.text()}`);
}

async function callApi(api: string, method: string, path: string, body?: unknown): Promise<ApiAnswer['result']> {
  const response = await fetch(`${api}/client/v4${path}`, {
    method,
    headers: { authorization: `Bearer ${KEY}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as ApiAnswer;
  if (!answer.success) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer.result;
}

/** Refusals of the API are part of the tests; everything else that a page complains about is a fault. */
function failOnErrors(t: Test, page: Page): void {
  page.on('pageerror', (error) => t.fail(`a script failed: ${error.stack ?? error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    if (/^Failed to load resource: the server responded with a status of 4\d\d/.test(message.text())) return;
    t.fail(`the console says: ${message.text()}`);
  });
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
  }[];
}

async function inspect(t: Test, page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    if (PICTURES) await takePicture(t, page, resolve(PICTURES), `${name}-${colorScheme}`);
    // Under the bar at the top, what is scrolled away would count as hidden.
    await page.evaluate('scrollTo(0, 0)');
    // Only colours differ in the dark.
    const options = colorScheme === 'light' ? `{ rules: ${RULES} }` : `{ runOnly: ${COLOURS} }`;
    // The policy of the page keeps out scripts that it does not know; those of the debugger are exempt.
    if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(AXE);
    const { violations } = (await page.evaluate(`axe.run(${options})`)) as AxeResult;
    const isGrave = ({ id, impact }: AxeResult['violations'][number]): boolean =>
      impact === 'serious' || impact === 'critical' || ALWAYS.includes(id);
    const grave = violations.filter(isGrave);
    t.strictSame(
      grave.map(({ id, nodes }) => [id, ...nodes.map(({ target, failureSummary }) => `${target}: ${failureSummary}`)]),
      [],
      `${name} in ${colorScheme} is accessible`,
    );
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

async function takePicture(t: Test, page: Page, directory: string, name: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, `${name}.png`);
  await page.screenshot({ path, fullPage: true });
  t.comment(`picture: ${path}`);
}
