/** Compression beside programs of others: nginx as origin, which compresses itself or does not; curl and Chromium as clients. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import t from 'tap';
import { editZoneSetting } from '../../../src/control/zones/settings.js';
import { noBrowser } from '../../support/browser.js';
import { freePort } from '../../support/free-ports.js';
import { fileOfNginx, hasNginx, startNginx } from '../../support/nginx.js';
import { startEdgeWorld } from '../fixture.js';

const HOST = 'www.peers.example';
const PAGE = `<!DOCTYPE html><title>Peers</title><p id="last">${'<p>So many words of a page.</p>'.repeat(4000)}`;
const skip = hasNginx || process.env['CI'] === 'true' ? noBrowser : 'not installed: nginx';

t.test('nginx, curl and Chromium', { skip }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-compression-'));
  const port = await freePort();
  const nginx = await startNginx(
    directory,
    port,
    `listen 127.0.0.1:${port}; types { text/html html; }
     location = /zipped.html { gzip on; gzip_vary on; gzip_types text/html; add_header Cache-Control "public, max-age=600"; }
     location = /stored.html { add_header Cache-Control "public, max-age=600"; }`,
  );
  for (const name of ['zipped', 'stored', 'page']) writeFileSync(fileOfNginx(directory, `${name}.html`), PAGE);
  const world = await startEdgeWorld(t);
  const id = await world.zone('peers.example', port);
  await editZoneSetting(world.ctx, id, 'ssl', 'flexible');
  await world.heard();
  t.teardown(() => {
    nginx.kill();
    rmSync(directory, { recursive: true, force: true });
  });
  /** The head, with names in lower case, and the body as curl has read it. */
  const curl = async (path: string, ...options: readonly string[]) => {
    const { stdout } = await promisify(execFile)(
      'curl',
      ['-sS', '-i', '-k', ...options, '--connect-to', `::127.0.0.1:${world.httpsPort}`, `https://${HOST}${path}`],
      { maxBuffer: 1 << 24 },
    );
    const end = stdout.indexOf('\r\n\r\n');
    return { head: `${stdout.slice(0, end).toLowerCase()}\r\n`, body: stdout.slice(end + 4) };
  };

  await t.test('curl reads each coding, over both versions, anew and from the cache', async (t) => {
    for (const version of ['--http1.1', '--http2']) {
      for (const coding of ['gzip', 'br', 'zstd']) {
        for (const path of ['/page.html', '/stored.html', '/stored.html']) {
          const { head, body } = await curl(path, version, '--compressed', '-H', `Accept-Encoding: ${coding}`);
          t.match(head, `content-encoding: ${coding}\r\n`, `${path}, ${version}`);
          t.match(head, /etag: w\/"/);
          t.equal(body, PAGE, `${coding}, ${path}, ${version}`);
        }
      }
    }
    const { head, body } = await curl('/stored.html', '-r', '10-19', '-H', 'Accept-Encoding: gzip');
    t.match(head, /^http\/2 206.*content-range: bytes 10-19\//s);
    t.equal(body, PAGE.slice(10, 20));
  });

  await t.test('what nginx compresses is passed on and stored as it is', async (t) => {
    for (const result of ['miss', 'hit']) {
      const { head, body } = await curl('/zipped.html', '--compressed', '-H', 'Accept-Encoding: gzip;q=0.9');
      t.match(head, /content-encoding: gzip\r\n/);
      t.match(head, `cf-cache-status: ${result}\r\n`);
      t.equal(body, PAGE);
    }
    for (const result of ['miss', 'hit']) {
      const { head, body } = await curl('/zipped.html', '--compressed', '-H', 'Accept-Encoding: br');
      t.match(head, /content-encoding: br\r\n/, 'for another coding, the plain form is asked for and compressed');
      t.match(head, `cf-cache-status: ${result}\r\n`);
      t.equal(body, PAGE);
    }
    const { head, body } = await curl('/zipped.html');
    t.notMatch(head, /content-encoding/);
    t.equal(body, PAGE);
  });

  await t.test('Chromium shows a page, and asks for it again', async (t) => {
    const browser = await chromium.launch({
      executablePath: process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium',
      args: ['--no-sandbox', `--host-resolver-rules=MAP ${HOST}:443 127.0.0.1:${world.httpsPort}`],
    });
    t.teardown(() => browser.close());
    const page = await browser.newPage({ ignoreHTTPSErrors: true });
    const response = await page.goto(`https://${HOST}/page.html`);
    t.match(response!.headers(), { 'content-encoding': 'zstd', vary: 'Accept-Encoding' });
    t.equal(await page.locator('p').count(), 4001);
    const again = await page.evaluate(async () => {
      const answer = await fetch('/page.html', { cache: 'no-cache' });
      return [answer.status, (await answer.text()).length];
    });
    t.strictSame(again, [200, PAGE.length], 'it reads the page from its own cache');
  });
});
