/** PowerDNS with a database of its own, as a primary or a secondary. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-ports.js';
import { endChild, waitForAnswers } from './reference-servers.js';

const FILES = ['/usr/sbin/pdns_server', '/usr/bin/pdnsutil', '/usr/bin/sqlite3'];
const SCHEMA = '/usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql';

/** Why tests that need it cannot run; false when they can. Under CI=true they must run. */
export function withoutPowerDns(): string | false {
  const missing = [...FILES, SCHEMA].filter((file) => !existsSync(file));
  return missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;
}

export interface PowerDns {
  readonly port: number;
  /** Runs `pdnsutil`; returns what it printed. Throws when it fails. */
  util(...args: string[]): string;
  /** Runs `pdns_control` on the running server. */
  control(...args: string[]): string;
  start(): Promise<void>;
  stop(): Promise<void>;
  log(): string;
}

/** In a directory of its own below `directory`. `settings`: lines of its configuration beside those for a test. */
export async function createPowerDns(directory: string, settings = ''): Promise<PowerDns> {
  const own = join(directory, 'pdns');
  mkdirSync(own);
  const port = await freePort();
  const [database, log] = [join(own, 'pdns.sqlite3'), join(own, 'log')];
  execFileSync('sqlite3', [database], { input: `.read ${SCHEMA}\n` });
  writeFileSync(
    join(own, 'pdns.conf'),
    `launch=gsqlite3\ngsqlite3-database=${database}\ngsqlite3-dnssec=yes\nlocal-address=127.0.0.1\nlocal-port=${port}\nsocket-dir=${own}\n` +
      `allow-axfr-ips=127.0.0.1/32\nsetuid=\nsetgid=\ndisable-syslog=yes\n${settings}`,
  );
  let child: ChildProcess | undefined;
  const run = (program: string, args: string[]): string =>
    execFileSync(program, [`--config-dir=${own}`, ...args], { stdio: 'pipe', encoding: 'utf8' });
  return {
    port,
    util: (...args) => run('pdnsutil', args),
    control: (...args) => run('pdns_control', args),
    async start() {
      const output = openSync(log, 'a');
      child = spawn(FILES[0]!, [`--config-dir=${own}`, '--guardian=no', '--daemon=no'], {
        stdio: ['ignore', output, output],
      });
      closeSync(output);
      await waitForAnswers('PowerDNS', port, log);
    },
    async stop() {
      if (child) await endChild(child);
      child = undefined;
    },
    log: () => readFileSync(log, 'utf8'),
  };
}
