/** The description of a setting apart from its type. */
import { z } from 'zod';

/** What documentation and command lines need to know about a setting apart from its type. */
export interface SettingAbout {
  readonly summary: string;
  /** Placeholder of the value in help texts, such as `port`. */
  readonly value: string;
  readonly group: string;
  /** The default in words, when it is not a plain value. */
  readonly defaultText?: string;
  /** Never shown, and never a plain flag; may be read from the file named by the `_FILE` variant. */
  readonly secret?: true;
  /** A secret that may be a plain flag all the same, unless its value contains a secret. */
  readonly flag?: { readonly hasSecret: (value: string) => boolean };
  /** Whether an empty value is valid (an empty list) and not the same as absent. */
  readonly mayBeEmpty?: true;
  /** Environment variable, when it does not follow from the name. */
  readonly environment?: string;
}

/** Descriptions by schema. */
export const about = z.registry<SettingAbout>();
