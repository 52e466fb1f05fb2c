/** The compared servers: their configuration for one zone file, and their start on one processor. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Started, start } from './processes.js';
import { ZONE } from './workload.js';

const PROGRAM = fileURLToPath(new URL('../src/main.js', import.meta.url));
const ECHO = fileURLToPath(new URL('./echo.js', import.meta.url));
const QUESTION = `ns1.${ZONE}`;

export interface Setup {
  readonly directory: string;
  readonly zoneFile: string;
  readonly port: number;
  /** Processor the server is bound to; undefined: all. */
  readonly cpu: number | undefined;
  /** Threads or processes that answer. */
  readonly workers: number;
  /** The zone file has the signatures and NSEC records that are to be served. */
  readonly presigned?: boolean;
  /** For DNS over TLS, on the port behind the other one. */
  readonly tls: Certificate & { readonly port: number };
}

export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate for this run alone. */
export function makeCertificate(directory: string): Certificate {
  const certificate = join(directory, 'certificate.pem');
  const key = join(directory, 'key.pem');
  run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-out', certificate, '-keyout', key],
  ]);
  return { certificate, key };
}

export interface Peer {
  readonly name: string;
  /** Program that must be installed. */
  readonly program: string;
  /** Whether it is set up for DNS over TLS. */
  readonly speaksTls: boolean;
  readonly start: (setup: Setup) => Promise<Started>;
}

/** A run that must succeed, with what it printed when it does not. */
export function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): number {
  const began = performance.now();
  const result = spawnSync(command, [...args], { env: { ...process.env, ...env }, encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${result.stderr}${result.stdout}`);
  return performance.now() - began;
}

function ours(name: string, transport: 'batched' | 'portable'): Peer {
  return {
    name,
    program: 'node',
    speaksTls: true,
    start(setup) {
      const env = {
        ZONEPLANE_DATA_DIR: join(setup.directory, 'data'),
        ZONEPLANE_DNS_HOST: '127.0.0.1',
        ZONEPLANE_DNS_PORT: String(setup.port),
        ZONEPLANE_DNS_WORKERS: String(setup.workers),
        ZONEPLANE_UDP_TRANSPORT: transport,
        ZONEPLANE_DOT_PORT: String(setup.tls.port),
        ZONEPLANE_TLS_CERT: setup.tls.certificate,
        ZONEPLANE_TLS_KEY: setup.tls.key,
        ZONEPLANE_LOG_LEVEL: 'error',
      };
      run(process.execPath, [PROGRAM, 'zone', 'import', '--init', '--replace', setup.zoneFile, '--origin', ZONE], env);
      return start(name, [process.execPath, PROGRAM, 'serve', '--role', 'dns'], setup.port, QUESTION, {
        ...pin(setup),
        env,
      });
    },
  };
}

function pin({ cpu }: Setup): { readonly cpu?: number } {
  return cpu === undefined ? {} : { cpu };
}

export const PEERS: readonly Peer[] = [
  ours('zoneplane', 'batched'),
  ours('zoneplane-portable', 'portable'),
  {
    name: 'echo',
    program: 'node',
    speaksTls: false,
    start: (setup) =>
      start(
        'echo',
        [process.execPath, ECHO, String(setup.port), String(setup.workers)],
        setup.port,
        QUESTION,
        pin(setup),
      ),
  },
  {
    name: 'nsd',
    program: '/usr/sbin/nsd',
    speaksTls: true,
    start(setup) {
      const config = join(setup.directory, 'nsd.conf');
      const at = (file: string): string => join(setup.directory, file);
      writeFileSync(
        config,
        `server:\n  ip-address: 127.0.0.1@${setup.port}\n  ip-address: 127.0.0.1@${setup.tls.port}\n  port: ${setup.port}\n  tls-port: ${setup.tls.port}\n  server-count: ${setup.workers}\n  reuseport: yes\n  username: ""\n` +
          `  zonesdir: "${setup.directory}"\n  pidfile: ""\n  database: ""\n  xfrdfile: "${at('xfrd')}"\n  zonelistfile: "${at('zones')}"\n` +
          `  xfrdir: "${setup.directory}"\n  rrl-ratelimit: 0\n  tls-service-pem: "${setup.tls.certificate}"\n  tls-service-key: "${setup.tls.key}"\nremote-control:\n  control-enable: no\n` +
          `zone:\n  name: ${ZONE}\n  zonefile: ${setup.zoneFile}\n`,
      );
      return start('nsd', ['/usr/sbin/nsd', '-d', '-c', config], setup.port, QUESTION, pin(setup));
    },
  },
  {
    name: 'knot',
    program: '/usr/sbin/knotd',
    speaksTls: false,
    start(setup) {
      const config = join(setup.directory, 'knot.conf');
      mkdirSync(join(setup.directory, 'knot'), { recursive: true });
      writeFileSync(
        config,
        `server:\n  listen: 127.0.0.1@${setup.port}\n  rundir: ${setup.directory}/knot\n  udp-workers: ${setup.workers}\n  tcp-workers: ${setup.workers}\n` +
          `database:\n  storage: ${setup.directory}/knot\nzone:\n  - domain: ${ZONE}\n    file: ${setup.zoneFile}\n    zonefile-sync: -1\n    journal-content: none\n`,
      );
      return start('knot', ['/usr/sbin/knotd', '-c', config], setup.port, QUESTION, pin(setup));
    },
  },
  {
    name: 'bind',
    program: '/usr/sbin/named',
    speaksTls: true,
    start(setup) {
      const config = join(setup.directory, 'named.conf');
      writeFileSync(
        config,
        `tls local { cert-file "${setup.tls.certificate}"; key-file "${setup.tls.key}"; };\n` +
          `options { directory "${setup.directory}"; listen-on port ${setup.port} { 127.0.0.1; };` +
          ` listen-on port ${setup.tls.port} tls local { 127.0.0.1; }; listen-on-v6 { none; }; recursion no;\n` +
          `  pid-file none; session-keyfile none; minimal-responses yes; };\ncontrols { };\nzone "${ZONE}" { type primary; file "${setup.zoneFile}"; };\n`,
      );
      return start(
        'bind',
        ['/usr/sbin/named', '-g', '-n', String(setup.workers), '-c', config],
        setup.port,
        QUESTION,
        pin(setup),
      );
    },
  },
  {
    name: 'pdns',
    program: '/usr/sbin/pdns_server',
    speaksTls: false,
    start(setup) {
      const database = join(setup.directory, 'pdns.sqlite');
      const config = join(setup.directory, 'pdns');
      mkdirSync(config, { recursive: true });
      run('sh', [
        '-c',
        `rm -f "${database}" && sqlite3 "${database}" < /usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql`,
      ]);
      writeFileSync(
        join(config, 'pdns.conf'),
        `launch=gsqlite3\ngsqlite3-database=${database}\ngsqlite3-dnssec=${setup.presigned ? 'yes' : 'no'}\nlocal-address=127.0.0.1\nlocal-port=${setup.port}\nsocket-dir=${setup.directory}\n` +
          `receiver-threads=${setup.workers}\nreuseport=yes\nloglevel=2\nsecurity-poll-suffix=\n`,
      );
      const pdnsutil = (...args: string[]): unknown => run('pdnsutil', ['--config-dir', config, ...args]);
      pdnsutil('load-zone', ZONE, setup.zoneFile);
      if (setup.presigned) {
        // Only zones with a key get the order of their names, which NSEC records are found by.
        pdnsutil('add-zone-key', ZONE, 'zsk', 'active');
        pdnsutil('rectify-zone', ZONE);
        pdnsutil('set-presigned', ZONE);
      }
      return start(
        'pdns',
        ['/usr/sbin/pdns_server', `--config-dir=${config}`, '--guardian=no', '--daemon=no'],
        setup.port,
        QUESTION,
        pin(setup),
      );
    },
  },
];
