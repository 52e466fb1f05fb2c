/** What a node remembers of servers of PostgreSQL. With real servers: failover.long.test.ts. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { forgetServers, knownServers } from '../../src/cluster/servers.js';
import { makeDirectory } from '../support/cluster-copies.js';

const FILE = 'cluster-servers.json';

t.test('a server on a lower timeline than the log was found on is refused, also after a restart', (t) => {
  const directory = makeDirectory(t);
  const known = knownServers(directory, silentLogger());
  const first = { system: '71', timeline: 1 };
  const promoted = { system: '71', timeline: 3 };
  t.equal(known.refusal(first), undefined, 'nothing is known yet');
  known.note(first);
  known.note(promoted);
  known.note(first);
  for (const one of [known, knownServers(directory, silentLogger())]) {
    t.equal(
      one.refusal(first),
      'it is a former primary: it accepts writes on timeline 1, but the log has gone on with timeline 3',
    );
    t.match(one.refusal({ timeline: 2 }), /former primary/, 'also if it does not say which system it is');
    t.equal(one.refusal(promoted), undefined);
    t.equal(one.refusal({ system: '71', timeline: 4 }), undefined);
    t.equal(one.refusal({}), undefined, 'one that says nothing cannot be told apart');
  }
  known.note({});
  t.strictSame(JSON.parse(readFileSync(join(directory, FILE), 'utf8')), { servers: [promoted] });
  t.strictSame(readdirSync(directory), [FILE], 'no draft is left');
  forgetServers(directory);
  t.equal(knownServers(directory, silentLogger()).refusal(first), undefined);
  t.end();
});

t.test('a log that has moved to another installation is not looked for in the former one', (t) => {
  const directory = makeDirectory(t);
  const known = knownServers(directory, silentLogger());
  known.note({ system: '71', timeline: 5 });
  const moved = { system: '72', timeline: 1 };
  t.equal(known.refusal(moved), undefined, 'its timelines are its own');
  known.note(moved);
  for (const one of [known, knownServers(directory, silentLogger())]) {
    t.match(one.refusal({ system: '71', timeline: 6 }), /has moved .*\(system identifier 71\) to another \(72\)/);
    t.equal(one.refusal(moved), undefined);
  }
  t.end();
});

t.test('what cannot be stored is known until the process ends, and is stored later', (t) => {
  const directory = join(makeDirectory(t), 'data');
  const told: string[] = [];
  const logger = { error: ({ reason }: { reason: string }) => told.push(reason) } as unknown as ReturnType<
    typeof silentLogger
  >;
  const known = knownServers(directory, logger);
  const promoted = { system: '71', timeline: 2 };
  known.note(promoted);
  known.note(promoted);
  t.match(told, [/cluster-servers\.json\.new cannot be used: it does not exist \(ENOENT\)/], 'it is said once');
  t.equal(told.length, 1);
  t.match(known.refusal({ system: '71', timeline: 1 }), /former primary/);
  mkdirSync(directory);
  known.note(promoted);
  t.match(knownServers(directory, silentLogger()).refusal({ system: '71', timeline: 1 }), /former primary/);
  writeFileSync(join(directory, FILE), '{"servers":');
  t.throws(() => knownServers(directory, silentLogger()), { name: 'UserError', message: /cannot be read/ });
  t.end();
});
