/** The files of places: what is refused at the start, and what a damaged replacement does. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { silentLogger } from '../../src/base/log.js';
import type { PlaceSource } from '../../src/location/finder.js';
import { createPlaceExaminer } from '../../src/roles/process/place-findings.js';
import { readPlaces, surroundingsOf, watchPlaces } from '../../src/roles/process/places.js';
import { startBalancedZone } from '../support/balanced-zone.js';
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

t.test('doctor says when nothing is known of places, and when the files are damaged or old', async (t) => {
  const world = await startBalancedZone(t);
  const { store } = world.ctx;
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-places-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const geoDatabase = join(directory, 'geo.mmdb');
  const none = createPlaceExaminer({ geoDatabase: undefined, geoNetworks: undefined });
  await world.pool('a', [{ name: 'o', address: '192.0.2.1' }]);
  const pool = world.idOf('a');
  await world.balancer('www', { default_pools: [pool], fallback_pool: pool, region_pools: { WEU: [pool] } });
  t.strictSame(none(store, 0), [], 'a server knows its own region');
  const country = { default_pools: [pool], fallback_pool: pool, country_pools: { FR: [pool] } };
  await world.balancer('www', country);
  t.match(none(store, 0), [{ kind: 'places-missing', verdict: 'warn' }]);
  await world.balancer('www', { ...country, enabled: false });
  t.strictSame(none(store, 0), []);
  const examine = createPlaceExaminer({ geoDatabase, geoNetworks: undefined });
  t.match(examine(store, 0), [{ kind: 'places-damaged', verdict: 'fail', text: /cannot be read/ }]);
  writeFileSync(geoDatabase, writeMmdb({ '192.0.2.0/24': { country: { iso_code: 'DE' } } }));
  t.match(examine(store, 0), [{ verdict: 'ok', text: /geo\.mmdb can be used/ }]);
  t.match(examine(store, Date.UTC(2026, 0, 1)), [{ kind: 'places-old', text: /was built on 1970-01-01/ }]);
  const own = { region: 'WEU', locationCode: 'FRA' } as const;
  const surroundings = surroundingsOf({ geoDatabase, geoNetworks: undefined, ...own });
  const { places } = surroundings();
  t.match(surroundings(), { region: 'WEU', pop: 'FRA', places: { version: 1 } });
  writeFileSync(geoDatabase, 'damaged');
  t.equal(surroundings().places, places, 'a damaged file leaves the old one');
  t.match(examine(store, 0), [{ kind: 'places-damaged', text: /not a database of places/ }]);
});
