/**
 * `node build/test/by-hand/screens.js [DIRECTORY]`: every screen with large and unusual data (a zone with 50 000 records, comments from
 * right to left, 4 kB of TXT, 500 tags, names in many scripts, 100 custom hostnames in all states), 360 to 1920 pixels wide, in
 * light and dark, with and without motion. Says which screens scroll sideways and what axe-core finds, and writes a picture of
 * each to the directory (build/screens). Takes about ten minutes. Last run: 2026-11-22.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { startProgram, stopProgram } from '../support/program.js';
import { makeHostnames } from './hostnames.js';

const CHROMIUM = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const KEY = 'screens-key-0123456789-0123456789-012345678';
const OUT = resolve(process.argv[2] ?? 'build/screens');
const WIDTHS = [360, 768, 1280, 1920] as const;
const LARGE = 'large.example';
const ODD = 'xn--bcher-kva.example';

const SCREENS: Readonly<Record<string, string>> = {
  'sign-in': '/sign-in',
  overview: '/overview',
  zones: '/zones',
  live: '/live',
  buckets: '/buckets',
  bucket: '/buckets/assets',
  tokens: '/access',
  'audit-log': '/access/log',
  sessions: '/access/sessions',
  accounts: '/access/accounts',
  nowhere: '/nothing',
  records: `/zones/${LARGE}/records`,
  'records-page': `/zones/${LARGE}/records?page=400`,
  odd: `/zones/${ODD}/records`,
  history: `/zones/${ODD}/history`,
  explain: `/zones/${ODD}/explain?name=big.${ODD}&type=TXT`,
  dnssec: `/zones/${ODD}/dnssec`,
  transfers: `/zones/${ODD}/transfers`,
  hostnames: `/zones/saas.example/hostnames`,
  'hostnames-2': `/zones/saas.example/hostnames?page=2`,
  settings: `/zones/${ODD}/settings`,
};

type Call = (method: string, path: string, body?: unknown) => Promise<{ readonly id: string }>;

function makeCall(api: string): Call {
  return async (method, path, body) => {
    const isText = typeof body === 'string';
    const headers = {
      authorization: `Bearer ${KEY}`,
      ...(!isText && body !== undefined && { 'content-type': 'application/json' }),
    };
    const response = await fetch(`${api}/client/v4${path}`, {
      ...{ method, headers },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    });
    const answer = (await response.json()) as { readonly success: boolean; readonly result: { readonly id: string } };
    if (!answer.success) throw new Error(`${method} ${path}: ${JSON.stringify(answer).slice(0, 500)}`);
    return answer.result;
  };
}

async function prepare(call: Call): Promise<void> {
  const lines = Array.from({ length: 50_000 }, (_, i) => `h${i} 300 IN A 10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  await call(
    'POST',
    '/zones/import',
    `$ORIGIN ${LARGE}.\n@ 300 IN SOA ns1 admin 1 2 3 4 5\n@ IN NS ns1\n${lines.join('\n')}\n`,
  );
  const odd = await call('POST', '/zones', { name: ODD });
  const tagsOf = (record: number): string[] =>
    Array.from({ length: 20 }, (_, i) => `label${record * 20 + i}:${'long value '.repeat(1 + (i % 3)).trim()}`);
  const tagged = Array.from({ length: 25 }, (_, i) => ({
    type: 'A',
    name: `t${i}`,
    content: '192.0.2.9',
    tags: tagsOf(i),
  }));
  const long = [50, 50, 50, 50].map((length, i) => 'abcd'[i]!.repeat(length)).join('.');
  const posts = [
    { type: 'A', name: 'www', content: '192.0.2.1', comment: 'שלום עולם: the shop at 192.0.2.1, למכירה' },
    { type: 'A', name: 'ar', content: '192.0.2.2', comment: 'هذا الخادم في برلين (rack 7)', tags: ['team:الشبكة'] },
    {
      type: 'TXT',
      name: 'big',
      content: Array.from({ length: 16 }, (_, i) => `"${String(i).padEnd(255, 'x')}"`).join(' '),
    },
    ...tagged,
    { type: 'CNAME', name: long, content: `${long}.example.net` },
    { type: 'A', name: 'xn--mnchen-3ya', content: '192.0.2.3' },
    { type: 'A', name: 'xn--80ak6aa92e', content: '192.0.2.4' },
    { type: 'A', name: 'xn--p1b6ci4b4b3a', content: '192.0.2.5' },
    { type: 'AAAA', name: '*.a.b.c', content: '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', proxied: true },
    { type: 'MX', name: '@', content: 'mail.example.net', priority: 10 },
  ];
  await call('POST', `/zones/${odd.id}/dns_records/batch`, { posts });
  await call('PATCH', `/zones/${odd.id}/dnssec`, { status: 'active' });
  await call('POST', `/zones/${odd.id}/secondary_dns/secondaries`, { name: 'ns2', ip: '127.0.0.1', port: 9 });
  const [account] = (await call('GET', '/accounts')) as unknown as readonly { readonly id: string }[];
  const buckets = `/accounts/${account!.id}/r2/buckets`;
  await call('POST', buckets, { name: 'assets' });
  await call('PUT', `${buckets}/assets/objects/${'deep/'.repeat(20)}file.txt`, 'text');
  await call('PUT', `${buckets}/assets/objects/${'n'.repeat(200)}.txt`, 'text');
  const policy = { effect: 'allow', permission_groups: [{ id: '82e64a83756745bbbb1c9c2701bf816b' }] };
  const resources = { [`com.cloudflare.api.account.zone.${odd.id}`]: '*' };
  await call('POST', '/user/tokens', { name: 'certbot '.repeat(10).trim(), policies: [{ ...policy, resources }] });
}

interface Fault {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly target: readonly string[] }[];
}

/** What is wrong with a screen as it stands there. */
async function inspect(page: Page, name: string, width: number): Promise<string[]> {
  const scroll = Number(await page.evaluate('document.documentElement.scrollWidth'));
  const { violations } = (await page.evaluate(`${AXE}; axe.run()`)) as { readonly violations: readonly Fault[] };
  return [
    ...(scroll > width ? [`${name}: ${scroll} of ${width} pixels`] : []),
    ...violations.map(
      ({ id, impact, nodes }) =>
        `${name}: ${impact} ${id} at ${nodes
          .map(({ target }) => target)
          .join('; ')
          .slice(0, 300)}`,
    ),
  ];
}

async function visit(
  profile: BrowserContext,
  api: string,
  scheme: 'light' | 'dark',
  motion: boolean,
): Promise<string[]> {
  const page = await profile.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`${page.url()}: ${error.message}`));
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: motion ? 'no-preference' : 'reduce' });
  for (const [name, path] of Object.entries(SCREENS)) {
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.goto(api + path);
    await page.locator('main').waitFor();
    await page
      .locator('.loading')
      .waitFor({ state: 'detached' })
      .catch(() => faults.push(`${name} still loads`));
    await page.waitForTimeout(300);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 860 });
      await page.waitForTimeout(120);
      const file = `${name}-${width}-${scheme}${motion ? '-motion' : ''}`;
      await page.screenshot({ path: join(OUT, `${file}.png`) });
      faults.push(...(await inspect(page, file, width)));
    }
  }
  await page.close();
  return faults;
}

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-screens-'));
mkdirSync(OUT, { recursive: true });
let program = await startProgram({ directory, key: KEY });
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
try {
  await prepare(makeCall(program.api));
  program = await makeHostnames({ directory, key: KEY, program, call: makeCall(program.api) });
  const profile = await browser.newContext();
  await profile.request.post(`${program.api}/client/v4/user/sessions`, { headers: { authorization: `Bearer ${KEY}` } });
  for (const scheme of ['light', 'dark'] as const) {
    for (const motion of [false, true]) {
      for (const fault of await visit(profile, program.api, scheme, motion)) process.stdout.write(`${fault}\n`);
    }
  }
} finally {
  await browser.close();
  await stopProgram(program);
  rmSync(directory, { recursive: true, force: true });
}
