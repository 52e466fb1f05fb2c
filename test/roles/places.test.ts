/** The files of places: what is refused at the start, and what a damaged replacement does. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { silentLogger } from '../../src/base/log.js';
import type { PlaceSource } from '../../src/location/finder.js';
import { readPlaces, watchPlaces } from '../../src/roles/process/places.js';
import { writeMmdb } from '../support/mmdb.js';
import { TestClock } from '../support/test-clock.js';

const LOOK_MS = 5000;

t.test('files are read again when they are replaced, and damaged ones leave the old', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-places-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const [geoDatabase, geoNetworks] = [join(directory, 'geo.mmdb'), join(directory, 'networks')];
  const put = (file: string, content: string | Buffer): void => {
    writeFileSync(`${file}.new`, content);
    renameSync(`${file}.new`, file);
  };
  const files = { geoDatabase, geoNetworks };
  t.throws(() => readPlaces(files), { message: /geo\.mmdb cannot be read/ });
  put(geoDatabase, writeMmdb({ '192.0.2.0/24': { country: { iso_code: 'DE' } } }));
  put(geoNetworks, '10.0.0.0/8 DE WEU\n10.0.0.0/33 DE\n');
  t.throws(() => readPlaces(files), { message: /networks:2: '10.0.0.0\/33' is not a network/ });
  put(geoNetworks, '10.0.0.0/8 DE WEU\n');
  t.match(readPlaces(files), { version: 1, networks: /DE WEU/ });
  t.equal(readPlaces({ geoDatabase: undefined, geoNetworks: undefined }), undefined);

  const clock = new TestClock();
  let said = 0;
  const log = Object.assign(silentLogger(), { error: () => void said++ });
  const used: PlaceSource[] = [];
  t.teardown(watchPlaces(files, (places) => used.push(places), clock, log));
  clock.advance(3 * LOOK_MS);
  t.equal(used.length, 0, 'nothing was replaced');
  put(geoNetworks, '10.0.0.0/8 FR WEU\n');
  clock.advance(LOOK_MS);
  t.match(used, [{ version: 2, networks: /FR WEU/ }]);
  put(geoDatabase, 'not a database');
  clock.advance(3 * LOOK_MS);
  t.equal(used.length, 1);
  t.equal(said, 1, 'said once');
  rmSync(geoDatabase);
  clock.advance(LOOK_MS);
  t.equal(used.length, 1, 'an absent file, too');
  put(geoDatabase, writeMmdb({ '192.0.2.0/24': { country: { iso_code: 'AU' } } }));
  clock.advance(LOOK_MS);
  t.equal(used.length, 2);
  t.not(used[1]!.version, used[0]!.version);
});
