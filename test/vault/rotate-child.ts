/** A process that replaces the master key of a data directory (first argument); tests kill it meanwhile. */
import { join } from 'node:path';
import { systemRandom } from '../../src/base/random.js';
import { fileKeys } from '../../src/vault/master-key.js';
import { rotateMasterKey } from '../../src/vault/rotate.js';
import { COLUMNS, openWithTable } from './fixture.js';

const directory = process.argv[2]!;
const store = openWithTable(directory);
process.stdout.write('started\n');
await rotateMasterKey({ store, keys: fileKeys(join(directory, 'master.key')), random: systemRandom, columns: COLUMNS });
store.close();
