/** A process that imports a zone file (second argument) into a data directory (first) and prints its progress. */
import { writeSync } from 'node:fs';
import { importZone } from '../../../src/control/imports/zone.js';
import { openChildContext } from '../child-context.js';

const [directory, file] = process.argv.slice(2);
await importZone(openChildContext(directory!), {
  source: { file: file! },
  replace: true,
  onProgress: ({ records }) => writeSync(1, `${records}\n`),
});
