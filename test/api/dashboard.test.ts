/** How the dashboard is served: its page under every screen's address, its files for ever, and how large they are. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import t from 'tap';
import { PAGES } from '../../src/api/dashboard/pages.js';
import { install } from './installation.js';

const WEB = resolve('build/web');
/** Octets of all that is loaded before something is shown, compressed with gzip. */
const FIRST_LOAD_LIMIT = 60_000;

interface Manifest {
  readonly files: Readonly<Record<string, string>>;
  readonly first: readonly string[];
}
const manifest = JSON.parse(readFileSync(join(WEB, 'manifest.json'), 'utf8')) as Manifest;

t.test('the page', async (t) => {
  const { app } = await install(t, { host: '0.0.0.0' });
  const root = await app.inject('/');
  t.equal(root.statusCode, 200);
  t.match(root.headers, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': /^default-src 'self';.*frame-ancestors 'none'/,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    vary: /accept-encoding/i,
  });
  t.notMatch(
    root.body,
    /<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=|https?:/,
    'nothing is inline or from elsewhere',
  );
  for (const page of PAGES) {
    for (const path of [`/${page}`, `/${page}/`, `/${page}/some.thing/x?y=1`]) {
      t.equal((await app.inject(path)).body, root.body, path);
    }
  }
  const { etag } = root.headers;
  const again = await app.inject({ url: '/zones', headers: { 'if-none-match': String(etag) } });
  t.strictSame([again.statusCode, again.body], [304, '']);
  t.equal((await app.inject({ method: 'POST', url: '/zones' })).statusCode, 400);
});

t.test('a browser without a session is sent to the form for signing in', async (t) => {
  const { app } = await install(t, { host: '0.0.0.0' });
  const visit = async (url: string, site: string): Promise<readonly [number, string | undefined]> => {
    const headers = { 'sec-fetch-dest': 'document', 'sec-fetch-site': site };
    const { statusCode, headers: answered } = await app.inject({ url, headers });
    return [statusCode, answered.location];
  };
  t.strictSame(await visit('/', 'none'), [302, '/sign-in']);
  t.strictSame(await visit('/zones/a?b=c&d', 'same-origin'), [302, '/sign-in?to=%2Fzones%2Fa%3Fb%3Dc%26d']);
  t.strictSame(await visit('/sign-in?to=%2F', 'none'), [200, undefined]);
  t.strictSame(await visit('/zones', 'cross-site'), [200, undefined], 'its cookie may not have been sent');
});

t.test('a browser gets the page where nothing is; a program gets JSON', async (t) => {
  const { app } = await install(t, { host: '0.0.0.0' });
  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
  const page = (await app.inject('/')).body;
  for (const url of ['/%zz', '/zones/%', '/nothing', '/favicon.ico', `/${'a'.repeat(3000)}/x`, '/zonesx?y=%']) {
    const answer = await app.inject({ url, headers: browser });
    t.strictSame([answer.statusCode, answer.body], [404, page], url);
    t.match(answer.headers, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': /^default-src 'self';.*frame-ancestors 'none'/,
      'x-content-type-options': 'nosniff',
    });
  }
  const coded = await app.inject({ url: '/%zz', headers: { ...browser, 'accept-encoding': 'br' } });
  t.equal(coded.headers['content-encoding'], 'br');
  for (const url of ['/%zz', '/zonesx', '/client/v4/zones/%', '/client/v4/nothing', '/v4/%', '/assets/%']) {
    const headers = url === '/%zz' || url === '/zonesx' ? { accept: '*/*' } : browser;
    const answer = await app.inject({ url, headers });
    t.match(answer.headers['content-type'], 'application/json', url);
    t.match(answer.json(), { success: false }, url);
  }
  t.match((await app.inject({ method: 'POST', url: '/%zz', headers: browser })).json(), { success: false });
});

t.test('every screen has its address', async (t) => {
  const text = readFileSync(resolve('web/screens.ts'), 'utf8');
  const paths = [...text.matchAll(/page\(\s*'\/([^'/]+)/g)].map(([, first]) => first!);
  t.ok(paths.length > 0);
  t.strictSame([...new Set(['sign-in', ...paths])].sort(), [...PAGES].sort());
});

t.test('a page names the file of its screen, so that it is fetched at once', async (t) => {
  const { app } = await install(t, { host: '0.0.0.0' });
  const text = readFileSync(resolve('web/screens.ts'), 'utf8');
  const screens = [...text.matchAll(/(?:page|tab)\(\s*'([^']+)'[^;]+?import\('\.\/screens\/[\w-]+\/([\w-]+)\.js'\)/g)];
  t.ok(screens.length > 10);
  for (const [, path, name] of screens) {
    const url = (path!.startsWith('/') ? path! : `/zones/example.com/${path}`).replace(/:\w+/, 'any');
    const file = /^<\/assets\/(.+)>; rel=modulepreload$/.exec(String((await app.inject(url)).headers['link']))?.[1];
    t.match(file, new RegExp(`^${name}-[0-9A-Za-z]{8}\\.js$`), url);
    t.ok(manifest.files[file!], url);
  }
  t.equal((await app.inject('/')).headers['link'], (await app.inject('/overview?x=/zones')).headers['link']);
  t.equal(
    (await app.inject('/zones/example.com')).headers['link'],
    (await app.inject('/zones/a/records')).headers['link'],
  );
  t.equal((await app.inject('/sign-in')).headers['link'], undefined);
});

t.test('its files', async (t) => {
  const { app } = await install(t, { host: '0.0.0.0' });
  for (const [name, type] of Object.entries(manifest.files)) {
    const octets = readFileSync(join(WEB, name));
    const url = `/assets/${name}`;
    const plain = await app.inject(url);
    t.match(name, /-[0-9A-Za-z]{8}\.\w+$/, 'a hash of its content is in the name');
    t.ok(plain.rawPayload.equals(octets));
    t.match(plain.headers, { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' });
    t.equal(plain.headers['content-encoding'], undefined);
    const asked = (codings: string) => app.inject({ url, headers: { 'accept-encoding': codings } });
    const brotli = await asked('gzip, deflate, br;q=0.9');
    t.equal(brotli.headers['content-encoding'], 'br');
    t.ok(brotliDecompressSync(brotli.rawPayload).equals(octets));
    const gzip = await asked('gzip, br;q=0');
    t.equal(gzip.headers['content-encoding'], 'gzip');
    t.ok(gunzipSync(gzip.rawPayload).equals(octets));
  }
  for (const name of ['index.html', 'manifest.json', '..%2fmanifest.json', 'main.js']) {
    t.equal((await app.inject(`/assets/${name}`)).statusCode, 404, name);
  }
});

t.test('the first load stays small', async (t) => {
  const sizes = manifest.first.map((name) => readFileSync(join(WEB, `${name}.gz`)).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  t.ok(total < FIRST_LOAD_LIMIT, `${total} octets`);
  t.comment(`${total} octets in ${sizes.length} files`);
});

t.test('something is drawn before the scripts have come, also over a slow line', async (t) => {
  const page = readFileSync(join(WEB, 'index.html'), 'utf8');
  const [body] = /<body>[\s\S]*<\/body>/.exec(page)!;
  t.match(body, /<p class="loading" role="status">Loading Zoneplane…<\/p>/);
  // 400 kbit/s are 50 000 octets a second; two round trips of 200 ms come first.
  const style = manifest.first.find((name) => name.endsWith('.css'))!;
  const octets = ['index.html', style].map((name) => readFileSync(join(WEB, `${name}.gz`)).length);
  t.ok(octets[0]! + octets[1]! < 50_000 * (1.5 - 0.4), `${octets}`);
  t.ok(page.indexOf('rel="stylesheet"') < page.indexOf('rel="modulepreload"'), 'the style sheet comes first');
});

t.test('what screens share is in one file, which comes with the first load', async (t) => {
  const shared = Object.keys(manifest.files).filter((name) => name.startsWith('chunk-'));
  t.equal(shared.length, 1, shared.join());
  t.ok(manifest.first.includes(shared[0]!));
});
