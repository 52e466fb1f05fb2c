/** A program of the build: writes the OpenAPI document. */
import { readFileSync, writeFileSync } from 'node:fs';
import { SystemClock } from '../../base/clock.js';
import { silentLogger } from '../../base/log.js';
import { systemRandom } from '../../base/random.js';
import { IN_MEMORY, openStore } from '../../store/driver.js';
import { takeSteps } from '../../store/migrate.js';
import { type ApiOptions, buildApi } from '../server.js';
import { DOCUMENT_FILE } from './file.js';

const { version } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'));
const store = openStore(IN_MEMORY);
takeSteps(store);
const base = {
  store,
  clock: new SystemClock(),
  random: systemRandom,
  log: silentLogger(),
  settings: { edgeAddresses: [] },
};
// The routes are only declared; none is called.
const unused = { objects: {}, hostnames: { certificates: {} }, signIn: { base }, host: '127.0.0.1' };
const app = buildApi({ ...unused, base, version, describes: true } as unknown as ApiOptions);
await app.ready();
writeFileSync(DOCUMENT_FILE, JSON.stringify(app.swagger()));
store.close();
