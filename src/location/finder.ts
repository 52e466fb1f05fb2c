/** Where an address is: by the operator's own networks, then by the database. */
import { codeOf } from '../steering/layout.js';
import { PlaceDatabase, type RegionOf } from './database.js';
import { NetworkTree, type PlacedNetwork, parsePlacedNetworks } from './networks.js';
import { forgetPlace, type Place } from './place.js';

/** What it is made of, in the form that is posted to threads. */
export interface PlaceSource {
  /** Another one for other content. */
  readonly version: number;
  /** A database in MaxMind's format. */
  readonly database?: SharedArrayBuffer | undefined;
  /** Lines of networks. */
  readonly networks?: string | undefined;
}

/** Of the world: its regions, and where countries are. */
export interface World {
  readonly regions: readonly string[];
  readonly regionOf: RegionOf;
}

export interface PlaceFinder {
  /** Fills `place` for an address of 4 or 16 octets at `at`; false when nothing is known of it. */
  find(address: Uint8Array, at: number, length: number, place: Place): boolean;
}

/** Throws when the database is damaged; faults of lines are for {@link parsePlacedNetworks} to tell. */
export function createPlaceFinder(
  { database, networks = '' }: Omit<PlaceSource, 'version'>,
  { regions, regionOf }: World,
): PlaceFinder {
  const own = parsePlacedNetworks(networks, regions).networks;
  const tree = new NetworkTree(own);
  const places = own.map((placed) => ownPlace(placed, regionOf));
  const file = database && new PlaceDatabase(Buffer.from(database), regionOf);
  return {
    find(address, at, length, place) {
      forgetPlace(place);
      const index = tree.find(address, at, length);
      const looked = tree.depth;
      const known = index >= 0 ? places[index]! : undefined;
      if (known) {
        place.country = known.country;
        place.region = known.region;
        place.prefix = looked;
        return true;
      }
      const isFound = file?.find(address, at, length, place) ?? false;
      place.prefix = Math.max(place.prefix, looked);
      return isFound;
    },
  };
}

/** A country alone tells the region, too. */
function ownPlace({ country, region }: PlacedNetwork, regionOf: RegionOf): { country: number; region: number } {
  const found = region ?? (country === undefined ? undefined : regionOf(country, undefined));
  return { country: codeOf(country ?? ''), region: codeOf(found ?? '') };
}
