/** Configuration files as they are read: bounded in size, number and depth of inclusion, and never one inside itself. */
import { closeSync, constants, fstatSync, globSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { UserError } from '../base/errors.js';
import { explainFileFailure } from '../base/file-failure.js';
import { faultAt, type Place } from './place.js';

const MOST_OCTETS_OF_FILE = 64 * 2 ** 20;
const MOST_OCTETS = 256 * 2 ** 20;
const MOST_FILES = 10_000;
const MOST_DEPTH = 16;

export interface OpenedFile {
  /** The path for messages. */
  readonly file: string;
  readonly text: string;
}

/** All files of one configuration. */
export class ConfigurationFiles {
  readonly #main: string;
  readonly #root: string | undefined;
  readonly #open: string[] = [];
  #files = 0;
  #octets = 0;

  /** `root`: the directory below which the files of another machine stand, whose absolute paths the configuration names. */
  constructor(main: string, root?: string) {
    this.#main = main;
    this.#root = root;
  }

  /** Directory of the file that was named first. */
  get mainDirectory(): string {
    return dirname(resolve(this.#main));
  }

  /** The path on this machine of a path in a configuration; `base` is where relative ones begin. */
  locate(path: string, base: string = this.mainDirectory): string {
    if (!isAbsolute(path)) return join(base, path);
    return this.#root === undefined ? path : join(this.#root, path);
  }

  readMain<Result>(work: (opened: OpenedFile) => Result): Result {
    return this.#read(this.#main, undefined, work);
  }

  /** Lets `work` read the file that another one includes; a pattern (`*.conf`) stands for all files that fit it, which may be none. */
  include(path: string, place: Place, work: (opened: OpenedFile) => void): void {
    if (!/[*?[]/.test(path)) {
      this.#read(path, place, work);
      return;
    }
    const fitting = globSync(path).sort();
    if (fitting.length > MOST_FILES) throw faultAt(place, `${path} stands for more than ${MOST_FILES} files`);
    for (const file of fitting) this.#read(file, place, work);
  }

  #read<Result>(file: string, from: Place | undefined, work: (opened: OpenedFile) => Result): Result {
    const fault = (text: string): UserError => (from ? faultAt(from, text) : new UserError(text));
    if (this.#open.length >= MOST_DEPTH) throw fault(`files include one another more than ${MOST_DEPTH} deep`);
    if (++this.#files > MOST_FILES) throw fault(`the configuration has more than ${MOST_FILES} files`);
    const { real, octets } = readBounded(file, from);
    if (this.#open.includes(real)) throw fault(`${file} includes itself`);
    this.#octets += octets.length;
    if (this.#octets > MOST_OCTETS) throw fault(`the configuration has more than ${MOST_OCTETS / 2 ** 20} MiB`);
    this.#open.push(real);
    try {
      return work({ file, text: octets.toString('utf8') });
    } finally {
      this.#open.pop();
    }
  }
}

function readBounded(file: string, from: Place | undefined): { readonly real: string; readonly octets: Buffer } {
  try {
    const real = realpathSync(file);
    // Without O_NONBLOCK a pipe would keep the program waiting before its kind can be seen.
    const descriptor = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const { size } = fstatSync(descriptor);
      if (!fstatSync(descriptor).isFile()) throw new UserError(`${file} is not a regular file`);
      if (size > MOST_OCTETS_OF_FILE) throw new UserError(`${file} has more than ${MOST_OCTETS_OF_FILE / 2 ** 20} MiB`);
      return { real, octets: readFileSync(descriptor) };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const known = explainFileFailure(error, file);
    if (!(known instanceof UserError) || !from) throw known;
    throw faultAt(from, known.message, known.remedy);
  }
}
