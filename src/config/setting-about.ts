/** What is said about a setting beside its type. */
import { z } from 'zod';

/** What documentation and command lines need to know about a setting beside its type. */
export interface SettingAbout {
  readonly summary: string;
  /** Placeholder of the value in help texts, such as `port`. */
  readonly value: string;
  readonly group: string;
  /** The default in words, where it is not a plain value. */
  readonly defaultText?: string;
  /** Never shown, never a plain flag; may be read from a file named by the `_FILE` twin. */
  readonly secret?: true;
  /** An empty value is a value (an empty list), not an absent one. */
  readonly mayBeEmpty?: true;
  /** Environment variable, where it does not follow from the name. */
  readonly environment?: string;
  /** Why the setting has no effect in this version; set when it has none. */
  readonly inert?: string;
}

/** By schema. */
export const about = z.registry<SettingAbout>();
