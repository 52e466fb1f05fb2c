/** What a screen is. The screens themselves stand in screens.ts, which imports them; they import this. */
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

export interface ScreenFile<Props> {
  readonly default: ComponentType<Props>;
  /** Asks ahead for what the screen reads first (`readAhead` of load.ts). */
  readonly readFirst?: (props: Props) => void;
}

export interface Screen<Props = ScreenProps> {
  readonly path: string;
  readonly title: string;
  /** Whether it stands in the navigation. */
  readonly listed: boolean;
  /** The credential must be able to read something of one of these. */
  readonly needs?: readonly Area[];
  /** Whether it is about all zones of an account. */
  readonly needsAllZones?: boolean;
  /** Whether it also works for credentials that are restricted to certain records. */
  readonly narrowable?: boolean;
  readonly load: () => Promise<ScreenFile<Props>>;
  /** What it reads from the API whatever it shows: asked for together with its file. */
  readonly reads?: readonly string[];
}
