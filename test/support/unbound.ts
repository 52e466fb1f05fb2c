/** Unbound as a validating resolver, with the servers of some zones and their trust anchors. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Rcode, Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { freePort } from './free-ports.js';
import { decodeMessage, makeQuery } from './message.js';
import { askAll } from './reference-servers.js';
import { until } from './until.js';

const UNBOUND = '/usr/sbin/unbound';

export function isUnboundMissing(): boolean {
  return !existsSync(UNBOUND);
}

export interface ResolvedZone {
  /** Without final dot. */
  readonly name: string;
  /** Ports of its servers on 127.0.0.1. */
  readonly ports: readonly number[];
  /** DS records of its keys, as lines. */
  readonly anchors: readonly string[];
}

/** What a validating resolver says: `secure`, `insecure` or `bogus`, and the code of the answer. */
export type Judge = (name: string, type: number) => Promise<string>;

export async function startUnbound(t: Test, zone: ResolvedZone): Promise<Judge> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-unbound-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const port = await freePort();
  const file = join(directory, 'unbound.conf');
  writeFileSync(join(directory, 'anchors'), zone.anchors.map((line) => `${line}\n`).join(''));
  // Without servers for the root, it would look for those of the Internet first.
  const addresses = zone.ports.map((one) => `  stub-addr: 127.0.0.1@${one}\n`).join('');
  writeFileSync(
    file,
    `server:
  interface: 127.0.0.1@${port}
  do-daemonize: no
  use-syslog: no
  username: ""
  chroot: ""
  directory: "${directory}"
  pidfile: ""
  logfile: "${directory}/unbound.log"
  do-not-query-localhost: no
  module-config: "validator iterator"
  trust-anchor-file: "${directory}/anchors"
  cache-max-ttl: 0
  cache-max-negative-ttl: 0
  aggressive-nsec: no
  local-zone: "test." nodefault
  qname-minimisation: no
stub-zone:
  name: "."
${addresses}stub-zone:
  name: "${zone.name}"
${addresses}remote-control:\n  control-enable: no\n`,
  );
  const child: ChildProcess = spawn(UNBOUND, ['-c', file], { stdio: 'ignore' });
  t.teardown(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const ask = async (name: string, type: number, waitMs: number): Promise<string> => {
    const query = makeQuery(parseName(`${name}.`), type, { flags: 0x0100, edns: 4096, dnssecOk: true });
    const [octets] = await askAll(port, [query], waitMs, 1);
    if (!octets) return 'silent';
    const { rcode, ad } = decodeMessage(octets);
    return rcode === Rcode.servFail ? 'bogus' : `${ad ? 'secure' : 'insecure'} ${rcode}`;
  };
  await until(async () => (await ask(zone.name, Type.soa, 300)) !== 'silent');
  return (name, type) => ask(name, type, 10_000);
}
