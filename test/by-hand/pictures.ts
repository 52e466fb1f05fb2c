/**
 * `node build/test/by-hand/pictures.js [SECONDS]`: the pictures of the README, docs/pictures/*.png, from the running program with the
 * zones of a small company. It is asked questions for that many seconds first (900), so that Overview has something to show.
 */
import { createSocket } from 'node:dgram';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { sleep } from '../../src/base/clock.js';
import { parseName } from '../../src/dns/name.js';
import { makeQuery } from '../support/message.js';
import { startProgram, stopProgram } from '../support/program.js';

const CHROMIUM = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
const PICTURES = resolve('docs/pictures');
const KEY = 'pictures-key-0123456789-0123456789-01234567';
const SECONDS = Number(process.argv[2] ?? 900);
const SIZE = { width: 1120, height: 860 };

const SHOP = 'harbourcoffee.example';
const RECORDS: Readonly<Record<string, readonly object[]>> = {
  [SHOP]: [
    { type: 'A', name: '@', content: '198.51.100.20', ttl: 300, comment: 'Web server in Bergen' },
    { type: 'MX', name: '@', content: 'mail.harbourcoffee.example', priority: 10, ttl: 3600, tags: ['team:office'] },
    { type: 'TXT', name: '@', content: '"v=spf1 mx -all"', ttl: 3600 },
    { type: 'TXT', name: '_dmarc', content: '"v=DMARC1; p=reject; rua=mailto:post@harbourcoffee.example"', ttl: 3600 },
    { type: 'CNAME', name: 'blog', content: 'harbourcoffee.github.io', ttl: 3600, comment: 'Recipes, by Ingrid' },
    { type: 'A', name: 'mail', content: '198.51.100.25', ttl: 3600 },
    { type: 'CNAME', name: 'old', content: 'shops.provider.example', ttl: 3600, comment: 'Until November' },
    { type: 'A', name: 'shop', content: '198.51.100.21', ttl: 300, tags: ['team:web'] },
    { type: 'CNAME', name: 'www', content: SHOP, ttl: 300, tags: ['team:web'] },
  ],
  'fjordclinic.example': [
    { type: 'A', name: '@', content: '203.0.113.40', ttl: 3600 },
    { type: 'A', name: 'www', content: '203.0.113.40', ttl: 3600 },
    { type: 'A', name: 'booking', content: '203.0.113.41', ttl: 300 },
  ],
  'tidepool.example': [
    { type: 'A', name: 'api', content: '192.0.2.80', ttl: 60 },
    { type: 'A', name: 'www', content: '192.0.2.81', ttl: 300 },
  ],
};

type Call = (method: string, path: string, body?: unknown) => Promise<{ readonly id: string }>;

/** Requests to the API as the administrator. They throw when they are refused. */
function makeCall(api: string): Call {
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const response = await fetch(`${api}/client/v4${path}`, { method, headers, body: JSON.stringify(body) });
    const answer = (await response.json()) as { readonly success: boolean; readonly result: { readonly id: string } };
    if (!answer.success) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer.result;
  };
}

async function makeZones(call: Call): Promise<void> {
  for (const [name, posts] of Object.entries(RECORDS)) {
    const { id } = await call('POST', '/zones', { name });
    await call('POST', `/zones/${id}/dns_records/batch`, { posts });
    if (name === SHOP) await call('PATCH', `/zones/${id}/dnssec`, { status: 'active' });
  }
}

/** What a day's questions look like, in a few minutes: more and fewer of them, and some for names that are not there. */
async function askQuestions(port: number): Promise<void> {
  const socket = createSocket('udp4');
  const ask = (name: string, type = 1): void => {
    socket.send(makeQuery(parseName(`${name}.`), type, { edns: 1232 }), port, '127.0.0.1');
  };
  const often = [SHOP, `www.${SHOP}`, `shop.${SHOP}`, `www.${SHOP}`, 'api.tidepool.example', 'www.fjordclinic.example'];
  for (let tenth = 0; tenth < SECONDS * 10; tenth++) {
    const many = 7 + 4 * Math.sin(tenth / 190) + 2 * Math.sin(tenth / 37) + (tenth % 3);
    for (let i = 0; i < many; i++) ask(often[(tenth * 5 + i) % often.length]!, i % 5 === 4 ? 28 : 1);
    if (tenth % 3 === 0) ask(SHOP, 15);
    if (tenth % 4 === 0) ask(`wpad.${SHOP}`);
    if (tenth % 40 === 0) ask('somewhere-else.example');
    await sleep(100);
  }
  socket.close();
}

/** Two edits that are not saved: another address, and a deletion. */
async function makeEdits(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'mail', exact: true }).click();
  await page.getByLabel('IPv4 address').fill('198.51.100.26');
  await page.getByRole('button', { name: 'Keep the edit' }).click();
  await page.getByText('1 edit is not saved').waitFor();
  await page.getByRole('button', { name: 'old', exact: true }).click();
  await page.getByRole('button', { name: 'Delete the record' }).click();
  await page.getByText('2 edits are not saved').waitFor();
  await page.mouse.move(0, 0);
  await page.evaluate('scrollTo(0, 0)');
}

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-pictures-'));
const environment = { ZONEPLANE_NAMESERVERS: 'ns1.example.net,ns2.example.net' };
const program = await startProgram({ directory, key: KEY, environment });
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
try {
  await makeZones(makeCall(program.api));
  const profile = await browser.newContext({ viewport: SIZE, colorScheme: 'light', reducedMotion: 'reduce' });
  const headers = { authorization: `Bearer ${KEY}` };
  await profile.request.post(`${program.api}/client/v4/user/sessions`, { headers });
  const page = await profile.newPage();
  mkdirSync(PICTURES, { recursive: true });
  await page.goto(`${program.api}/zones/${SHOP}/records`);
  await makeEdits(page);
  await page.screenshot({ path: join(PICTURES, 'records.png') });
  await askQuestions(program.dnsPort);
  const other = await profile.newPage();
  await other.goto(`${program.api}/overview`);
  await other.locator('.chart svg').waitFor();
  await other.getByText('Last changes').waitFor();
  await other.screenshot({ path: join(PICTURES, 'overview.png') });
} finally {
  await browser.close();
  await stopProgram(program);
  rmSync(directory, { recursive: true, force: true });
}
