/** Where rows of records and signatures stand: in the set of a zone, or in a staged set that no zone has. */

/** The number of a zone, whose set is meant, or what {@link placeOfSet} says of a set. */
export type Place = number;

/** Stands for a set of records or signatures where the number of a zone is expected. */
export function placeOfSet(set: number): Place {
  return -set;
}

/** SQL for the number of the set of records at the place that is its only parameter. */
export const RECORD_SET_AT = setAt('SELECT record_set FROM zones WHERE seq = place');

/** The same of signatures and NSEC3 records; NULL for a zone that is not signed. */
export const SIGNATURE_SET_AT = setAt('SELECT signature_set FROM dnssec_zones WHERE zone = place');

function setAt(ofZone: string): string {
  return `(SELECT CASE WHEN place < 0 THEN -place ELSE (${ofZone}) END FROM (SELECT ? AS place))`;
}
