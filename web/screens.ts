/**
 * Every screen: where it is, what it needs, and the file that draws it, which is loaded when it is opened. The first part of each
 * path also stands in src/api/dashboard/pages.ts.
 */
import type { ComponentType } from 'preact';
import type { Area } from './session.js';
import type { Zone } from './types.js';

export interface ScreenProps {
  /** The values of the path's `:names`. */
  readonly params: Readonly<Record<string, string>>;
}

export interface ZoneScreenProps extends ScreenProps {
  readonly zone: Zone;
  /** Address of the zone's screens, without a final slash. */
  readonly base: string;
}

export interface Screen<Props = ScreenProps> {
  readonly path: string;
  readonly title: string;
  /** Whether it stands in the navigation. */
  readonly listed: boolean;
  /** What the credential must be able to read. */
  readonly needs?: Area;
  /** Whether it also works for credentials that are restricted to certain records. */
  readonly narrowable?: boolean;
  readonly load: () => Promise<{ readonly default: ComponentType<Props> }>;
}

/** In the order of the navigation. */
export const SCREENS: readonly Screen[] = [
  { path: '/zones', title: 'Zones', listed: true, load: () => import('./screens/zones/zones.js') },
];

/** Screens of one zone: below `/zones/:zone`, in the order of its tabs. */
export const ZONE_SCREENS: readonly Screen<ZoneScreenProps>[] = [
  {
    path: 'records',
    title: 'Records',
    listed: true,
    needs: 'dns',
    narrowable: true,
    load: () => import('./screens/records/records.js'),
  },
  { path: 'history', title: 'History', listed: true, needs: 'dns', load: () => import('./screens/history/history.js') },
  { path: 'explain', title: 'Explain', listed: true, needs: 'dns', load: () => import('./screens/explain/explain.js') },
];

/** Where the root leads. */
export const FIRST = '/zones';
