/** The regions of the world between which load balancers steer. */

export const REGIONS = [
  'WNAM',
  'ENAM',
  'WEU',
  'EEU',
  'NSAM',
  'SSAM',
  'OC',
  'ME',
  'NAF',
  'SAF',
  'SAS',
  'SEAS',
  'NEAS',
] as const;

export type Region = (typeof REGIONS)[number];

export function isRegion(code: string): code is Region {
  return (REGIONS as readonly string[]).includes(code);
}
