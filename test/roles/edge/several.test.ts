/** Where several edge processes can run, and the memory in which they count together. */
import { mkdtempSync, readdirSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { KEY_OCTETS, PART_OCTETS, partOffset } from '../../../src/edge/shared/counts.js';
import { createEdgeMemory } from '../../../src/roles/edge/memory.js';
import { requireSharedPorts } from '../../../src/roles/edge/several.js';
import { seededRandom } from '../../support/seeded-random.js';

t.test('several processes are refused where ports cannot be shared', async (t) => {
  const cannot = async (): Promise<boolean> => false;
  await t.rejects(requireSharedPorts({ edge: 'auto', edgeProcesses: 2 }, cannot), {
    message:
      /^edge-processes 2 needs Linux and a Node\.js whose processes can share a port, which v\d+\.\S+ on \w+ cannot$/,
    remedy: 'Set --edge-processes to 1, or install Node.js 24.',
  });
  await t.resolves(requireSharedPorts({ edge: 'on', edgeProcesses: 1 }, cannot), 'one needs nothing');
  await t.resolves(requireSharedPorts({ edge: 'off', edgeProcesses: 2 }, cannot), 'nor do those that never run');
  if (process.platform === 'linux') await t.resolves(requireSharedPorts({ edge: 'on', edgeProcesses: 2 }));
});

t.test('the memory has no name, a key of its own, and parts that can be cleared', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-counts-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const memory = createEdgeMemory(directory, 2, seededRandom(3));
  t.teardown(() => memory.close());
  const read = (length: number, position: number): Uint8Array => {
    const octets = new Uint8Array(length);
    t.equal(readSync(memory.fd, octets, 0, length, position), length, 'there is room for all of it');
    return octets;
  };
  t.same(read(KEY_OCTETS, 0), seededRandom(3).bytes(KEY_OCTETS));
  for (const process of [0, 1]) t.ok(read(PART_OCTETS, partOffset(process)).every((octet) => octet === 0));
  for (const process of [0, 1]) writeSync(memory.fd, Uint8Array.of(1), 0, 1, partOffset(process));
  memory.clear(0);
  t.same([read(1, partOffset(0)), read(1, partOffset(1))], [Uint8Array.of(0), Uint8Array.of(1)]);
  t.same(readdirSync(directory), [], 'no file is left');
  memory.close();
  memory.close();
  t.throws(() => read(1, 0), 'to close it twice closes nothing else');
});
