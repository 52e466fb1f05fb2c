/** The files of the dashboard and of the guide, as the build wrote them: read once and served from memory. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Beside the compiled program: build/web. web/bundle.js writes it. */
const DIRECTORY = resolve(fileURLToPath(import.meta.url), '..', '..', '..', '..', 'web');

export type Coding = 'br' | 'gzip';

export interface Asset {
  readonly type: string;
  readonly octets: Buffer;
  /** The same, compressed at build time; only where that makes it smaller. */
  readonly coded: ReadonlyMap<Coding, Buffer>;
  /** The opaque part of its entity tag. */
  readonly etag: string;
}

export interface Assets {
  readonly index: Asset;
  /** By name; a name contains a hash of the content. */
  readonly files: ReadonlyMap<string, Asset>;
  /** Names of the screens' files, by the screens' names (pages.ts). */
  readonly screens: ReadonlyMap<string, string>;
}

interface Manifest {
  /** File name → media type. */
  readonly files: Readonly<Record<string, string>>;
  /** Screen → file name. */
  readonly screens: Readonly<Record<string, string>>;
}

const SUFFIXES: readonly (readonly [Coding, string])[] = [
  ['br', '.br'],
  ['gzip', '.gz'],
];

/** The guide (web/guide/build.js). Undefined when the program was built without it. */
export function loadGuide(): Assets | undefined {
  return loadAssets(join(DIRECTORY, 'guide'));
}

/** Undefined when the program was built without the dashboard. */
export function loadAssets(directory = DIRECTORY): Assets | undefined {
  if (!existsSync(join(directory, 'manifest.json'))) return undefined;
  const { files, screens } = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8')) as Manifest;
  const assets = Object.entries(files).map(([name, type]) => [name, loadAsset(directory, name, type)] as const);
  const index = loadAsset(directory, 'index.html', 'text/html; charset=utf-8');
  return { index, files: new Map(assets), screens: new Map(Object.entries(screens)) };
}

function loadAsset(directory: string, name: string, type: string): Asset {
  const octets = readFileSync(join(directory, name));
  const coded = SUFFIXES.filter(([, suffix]) => existsSync(join(directory, name + suffix))).map(
    ([coding, suffix]) => [coding, readFileSync(join(directory, name + suffix))] as const,
  );
  return { type, octets, coded: new Map(coded), etag: createHash('sha256').update(octets).digest('base64url') };
}
