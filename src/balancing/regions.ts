/**
 * The countries of each region, each country in one; the United States and Canada by subdivisions (ISO 3166-1, ISO 3166-2).
 *
 * WNAM has what the vendor's documented answer of its regions route lists, and the neighbouring states that it leaves out. The vendor
 * publishes no table of the others: they follow the standard country codes for statistical use of the United Nations (M49), from
 * whose subregions the regions are put together.
 */
import type { Region } from './region-codes.js';

interface Subdivision {
  readonly code: string;
  readonly name: string;
}

interface Country {
  /** Two letters. */
  readonly code: string;
  readonly name: string;
  /** Those that are in the region; undefined: all of the country is. */
  readonly subdivisions: readonly Subdivision[] | undefined;
}

const list = (text: string): string[] => text.trim().split(/\s+/);

/** Whole countries. */
const COUNTRIES: Readonly<Record<Region, readonly string[]>> = {
  WNAM: list('HT MX'),
  ENAM: list('BM GL PM UM'),
  // M49: Western, Northern and Southern Europe, apart from the Baltic and the Balkan countries.
  WEU: list('AD AT AX BE CH DE DK ES FI FO FR GB GG GI IE IM IS IT JE LI LU MC MT NL NO PT SE SJ SM VA'),
  // M49: Eastern Europe, and those.
  EEU: list('AL BA BG BY CZ EE GR HR HU LT LV MD ME MK PL RO RS RU SI SK UA XK'),
  // M49: Caribbean, Central America, and the north of South America.
  NSAM: list(
    'AG AI AW BB BL BQ BS BZ CO CR CU CW DM DO EC GD GF GP GT GY HN JM KN KY LC MF MQ MS NI PA PR SR SV SX TC TT VC VE VG VI',
  ),
  SSAM: list('AQ AR BO BR CL FK GS PE PY UY'),
  // M49: Oceania.
  OC: list('AS AU CC CK CX FJ FM GU HM KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TO TV VU WF WS'),
  // M49: Western Asia, and Iran.
  ME: list('AE AM AZ BH CY GE IL IQ IR JO KW LB OM PS QA SA SY TR YE'),
  // M49: Northern and Western Africa, and what lies north of the equator.
  NAF: list('BF BJ CF CI CM CV DJ DZ EG EH ER ET GH GM GN GQ GW LR LY MA ML MR NE NG SD SH SL SN SO SS TD TG TN'),
  SAF: list('AO BI BV BW CD CG GA IO KE KM LS MG MU MW MZ NA RE RW SC ST SZ TF TZ UG YT ZA ZM ZW'),
  // M49: Southern Asia apart from Iran, and Central Asia.
  SAS: list('AF BD BT IN KG KZ LK MV NP PK TJ TM UZ'),
  SEAS: list('BN ID KH LA MM MY PH SG TH TL VN'),
  NEAS: list('CN HK JP KP KR MN MO TW'),
};

const NAMES_OF_CA: Readonly<Record<string, string>> = {
  ...{ AB: 'Alberta', BC: 'British Columbia', MB: 'Manitoba', NB: 'New Brunswick', NL: 'Newfoundland and Labrador' },
  ...{ NS: 'Nova Scotia', NT: 'Northwest Territories', NU: 'Nunavut', ON: 'Ontario', PE: 'Prince Edward Island' },
  ...{ QC: 'Quebec', SK: 'Saskatchewan', YT: 'Yukon' },
};

const NAMES_OF_US: Readonly<Record<string, string>> = {
  ...{ AK: 'Alaska', AL: 'Alabama', AR: 'Arkansas', AZ: 'Arizona', CA: 'California', CO: 'Colorado' },
  ...{ CT: 'Connecticut', DC: 'District of Columbia', DE: 'Delaware', FL: 'Florida', GA: 'Georgia', HI: 'Hawaii' },
  ...{ IA: 'Iowa', ID: 'Idaho', IL: 'Illinois', IN: 'Indiana', KS: 'Kansas', KY: 'Kentucky', LA: 'Louisiana' },
  ...{ MA: 'Massachusetts', MD: 'Maryland', ME: 'Maine', MI: 'Michigan', MN: 'Minnesota', MO: 'Missouri' },
  ...{ MS: 'Mississippi', MT: 'Montana', NC: 'North Carolina', ND: 'North Dakota', NE: 'Nebraska' },
  ...{ NH: 'New Hampshire', NJ: 'New Jersey', NM: 'New Mexico', NV: 'Nevada', NY: 'New York', OH: 'Ohio' },
  ...{ OK: 'Oklahoma', OR: 'Oregon', PA: 'Pennsylvania', RI: 'Rhode Island', SC: 'South Carolina' },
  ...{ SD: 'South Dakota', TN: 'Tennessee', TX: 'Texas', UT: 'Utah', VA: 'Virginia', VT: 'Vermont' },
  ...{ WA: 'Washington', WI: 'Wisconsin', WV: 'West Virginia', WY: 'Wyoming' },
};

/** Countries that are divided, and what of them is in the west; the rest is in the east. */
const DIVIDED = [
  { code: 'CA', names: NAMES_OF_CA, west: list('AB BC NT SK YT') },
  { code: 'US', names: NAMES_OF_US, west: list('AK AZ CA CO HI ID MN MO MT NM NV OR TX UT WA WY') },
] as const;

const countryNames = new Intl.DisplayNames('en', { type: 'region' });

/** In the order of their codes. */
export function countriesOfRegion(region: Region): readonly Country[] {
  const whole = COUNTRIES[region].map((code) => ({ code, name: nameOf(code), subdivisions: undefined }));
  return [...whole, ...dividedIn(region)].sort((a, b) => (a.code < b.code ? -1 : 1));
}

function nameOf(code: string): string {
  return countryNames.of(code) ?? code;
}

function dividedIn(region: Region): Country[] {
  if (region !== 'WNAM' && region !== 'ENAM') return [];
  return DIVIDED.map(({ code, names, west }) => {
    const codes = Object.keys(names).filter((one) => west.includes(one) === (region === 'WNAM'));
    const subdivisions = codes.sort().map((one) => ({ code: one, name: names[one]! }));
    return { code, name: nameOf(code), subdivisions };
  });
}

const REGION_OF_COUNTRY: ReadonlyMap<string, Region> = new Map(
  Object.entries(COUNTRIES).flatMap(([region, codes]) => codes.map((code) => [code, region as Region] as const)),
);

/**
 * The region of a country (two upper-case letters); undefined for an unknown code. `subdivision`: two upper-case letters, of the United
 * States and Canada; without one, these are in the east.
 */
export function regionOf(country: string, subdivision?: string): Region | undefined {
  const divided = DIVIDED.find(({ code }) => code === country);
  if (!divided) return REGION_OF_COUNTRY.get(country);
  return subdivision !== undefined && divided.west.includes(subdivision) ? 'WNAM' : 'ENAM';
}
