/**
 * lego, an independent ACME client in Go: its hooks write TXT records to our API, and Pebble looks them up at our name
 * server. The edge answers its HTTP challenge where a proxied name leads to its own web server.
 */
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { parseName } from '../../../src/dns/name.js';
import { freePort } from '../../support/free-ports.js';
import { decodeMessage, makeQuery } from '../../support/message.js';
import { startPebble, withoutPebble } from '../../support/pebble.js';
import { startProgram, stopProgram } from '../../support/program.js';
import { askAll } from '../../support/reference-servers.js';
import { until } from '../../support/until.js';

const LEGO = '/usr/bin/lego';
const CURL = '/usr/bin/curl';
const KEY = 'lego-key-0123456789-0123456789-0123456789-01';
const ZONE = 'lego.test';

const absent = [LEGO, CURL].filter((path) => !existsSync(path));
const skip = absent.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${absent.join(', ')}` : withoutPebble;

/** What lego calls with `present` or `cleanup`, a name with its final dot, and a text. */
const HOOK = `#!/bin/sh
set -eu
records="$API/client/v4/zones/$ZONE_ID/dns_records"
name=\${2%.}
call() { ${CURL} -sS --fail-with-body -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' "$@"; }
case $1 in
  present) call "$records" -d "{\\"type\\":\\"TXT\\",\\"name\\":\\"$name\\",\\"content\\":\\"$3\\",\\"ttl\\":60}" ;;
  cleanup)
    id=$(call "$records?type=TXT&name=$name&content=$3" | grep -oE '"id":"[0-9a-f]{32}"' | head -n 1 | cut -d '"' -f 4)
    call -X DELETE "$records/$id" ;;
esac
`;

t.test('lego proves control by DNS and by HTTP', { skip }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-lego-'));
  const [edgePort, httpsPort, webPort] = [await freePort(), await freePort(), await freePort()];
  const program = await startProgram({
    directory,
    key: KEY,
    environment: {
      ZONEPLANE_EDGE: 'auto',
      ZONEPLANE_EDGE_HOST: '127.0.0.1',
      ZONEPLANE_EDGE_HTTP_PORT: String(edgePort),
      ZONEPLANE_EDGE_HTTPS_PORT: String(httpsPort),
      ZONEPLANE_EDGE_ADDRESSES: '127.0.0.1',
      ZONEPLANE_EDGE_ALLOW_ORIGIN_CIDRS: '127.0.0.0/8',
    },
  });
  const pebble = await startPebble({ dnsPort: program.dnsPort, httpPort: edgePort });
  t.teardown(async () => {
    await pebble.stop();
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  const call = async (path: string, body: object): Promise<{ id: string }> => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const answer = await fetch(`${program.api}/client/v4${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const { success, result, errors } = (await answer.json()) as {
      success: boolean;
      result: { id: string };
      errors: [];
    };
    t.ok(success, JSON.stringify(errors));
    return result;
  };
  const zone = await call('/zones', { name: ZONE });
  const hook = join(directory, 'hook');
  writeFileSync(hook, HOOK, { mode: 0o755 });
  const bundle = join(directory, 'pebble.pem');
  writeFileSync(bundle, pebble.identity.certificate);
  const environment = {
    PATH: process.env['PATH'],
    HOME: directory,
    LEGO_CA_CERTIFICATES: bundle,
    EXEC_PATH: hook,
    // Seconds between two names; lego waits a minute otherwise.
    EXEC_SEQUENCE_INTERVAL: '1',
    API: program.api,
    ZONE_ID: zone.id,
    KEY,
  };
  const lego = (...args: string[]) => runLego(t, directory, environment, pebble.directoryUrl, args);

  const told = await lego(
    '--dns',
    'exec',
    '--dns.disable-cp',
    '--dns.resolvers',
    `127.0.0.1:${program.dnsPort}`,
    '-d',
    ZONE,
    '-d',
    `*.${ZONE}`,
  );
  const wildcard = certificateOf(directory, ZONE);
  t.strictSame(wildcard.subjectAltName?.split(', ').sort(), [`DNS:*.${ZONE}`, `DNS:${ZONE}`]);
  const isTakenAway = async (): Promise<boolean> => {
    const [answer] = await askAll(program.dnsPort, [makeQuery(parseName(`_acme-challenge.${ZONE}.`), 16)], 1000);
    return answer !== undefined && decodeMessage(answer).rcode === 3;
  };
  await until(isTakenAway, 'the challenges are taken away again', () => told);

  // The web server of lego: at another address than the edge, or it would be refused as a loop.
  await call(`/zones/${zone.id}/dns_records`, { type: 'A', name: 'origin', content: '127.0.0.2' });
  const origin = { content: `origin.${ZONE}`, proxied: true, settings: { origin_port: webPort } };
  const record = { type: 'CNAME', name: 'www', ...origin };
  await call(`/zones/${zone.id}/dns_records`, record);
  const isUp = async () => (await fetch(`http://127.0.0.1:${edgePort}/`).catch(() => undefined)) !== undefined;
  await until(isUp);
  await lego('--http', '--http.port', `127.0.0.2:${webPort}`, '-d', `www.${ZONE}`);
  t.equal(certificateOf(directory, `www.${ZONE}`).subjectAltName, `DNS:www.${ZONE}`);
});

function certificateOf(directory: string, name: string): X509Certificate {
  return new X509Certificate(readFileSync(join(directory, 'lego', 'certificates', `${name}.crt`)));
}

/** Gives what lego printed; throws with it when it fails. */
async function runLego(
  t: Test,
  directory: string,
  env: NodeJS.ProcessEnv,
  server: string,
  args: readonly string[],
): Promise<string> {
  const account = ['--server', server, '--accept-tos', '--email', 'admin@lego.test', '--path', join(directory, 'lego')];
  try {
    const printed = await promisify(execFile)(LEGO, [...account, ...args, 'run'], { env, timeout: 120_000 });
    return `${printed.stdout}${printed.stderr}`;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    t.comment(stdout);
    throw new Error(`lego failed: ${stdout}${stderr}`);
  }
}
