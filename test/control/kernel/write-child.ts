/**
 * A process that creates the given number of records (third argument) in a zone (second) of a data directory (first).
 */
import { createRecord } from '../../../src/control/records/records.js';
import { openChildContext } from '../child-context.js';

const [directory, zoneId, count] = process.argv.slice(2);
const ctx = openChildContext(directory!);
for (let i = 0; i < Number(count); i++) {
  await createRecord(ctx, zoneId!, { type: 'A', name: `child-${i}`, content: '192.0.2.1' });
}
