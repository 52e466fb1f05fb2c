/** Where somebody is, as far as it is known. One object is refilled. */

export interface Place {
  /** Codes as numbers (steering/layout.ts); 0: not known. */
  country: number;
  region: number;
  /** The direction from the centre of the earth, in units of 2^-30; all 0: not known. */
  x: number;
  y: number;
  z: number;
  /** How many leading bits of the address decided: every address that has them in common is at the same place. */
  prefix: number;
}

export function createPlace(): Place {
  return { country: 0, region: 0, x: 0, y: 0, z: 0, prefix: 0 };
}

export function forgetPlace(place: Place): void {
  place.country = 0;
  place.region = 0;
  place.x = 0;
  place.y = 0;
  place.z = 0;
  place.prefix = 0;
}
