/** NSD, Knot and BIND as primaries of one zone file that everybody on this machine may transfer. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAMS, type ReferenceName } from '../../test/support/reference-servers.js';
import { type Started, start } from '../processes.js';
import { ZONE } from '../workload.js';

/** Those that are installed, on ports from `port` on. */
export async function startPrimaries(directory: string, zoneFile: string, port: number): Promise<Started[]> {
  const started: Started[] = [];
  for (const [index, name] of (Object.keys(PROGRAMS) as ReferenceName[]).entries()) {
    if (!existsSync(PROGRAMS[name])) continue;
    const own = join(directory, `primary-${name}`);
    mkdirSync(own);
    const config = join(own, 'config');
    writeFileSync(config, configurationOf(name, own, zoneFile, port + index));
    started.push(await start(name, [PROGRAMS[name], ...argumentsOf(name, config)], port + index, `ns1.${ZONE}`));
  }
  return started;
}

function argumentsOf(name: ReferenceName, config: string): string[] {
  if (name === 'nsd') return ['-d', '-c', config];
  return name === 'knot' ? ['-c', config] : ['-g', '-n', '1', '-c', config];
}

function configurationOf(name: ReferenceName, own: string, zoneFile: string, port: number): string {
  switch (name) {
    case 'nsd':
      return (
        `server:\n  ip-address: 127.0.0.1\n  port: ${port}\n  username: ""\n  zonesdir: "${own}"\n  pidfile: ""\n  database: ""\n` +
        `  xfrdfile: "${own}/xfrd"\n  zonelistfile: "${own}/list"\n  xfrdir: "${own}"\n  rrl-ratelimit: 0\n  server-count: 1\nremote-control:\n  control-enable: no\n` +
        `zone:\n  name: "${ZONE}"\n  zonefile: "${zoneFile}"\n  provide-xfr: 127.0.0.1 NOKEY\n`
      );
    case 'knot':
      return (
        `server:\n  listen: 127.0.0.1@${port}\n  rundir: ${own}\n  udp-workers: 1\n  tcp-workers: 1\ndatabase:\n  storage: ${own}\n` +
        `acl:\n  - id: all\n    address: 127.0.0.1\n    action: transfer\nzone:\n  - domain: ${ZONE}\n    file: ${zoneFile}\n    zonefile-sync: -1\n    journal-content: none\n    semantic-checks: off\n    acl: all\n`
      );
    case 'bind':
      return (
        `options { directory "${own}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; pid-file none; session-keyfile none;\n` +
        `  empty-zones-enable no; allow-transfer { any; }; transfers-out 100; };\ncontrols { };\nzone "${ZONE}" { type primary; file "${zoneFile}"; };\n`
      );
  }
}
