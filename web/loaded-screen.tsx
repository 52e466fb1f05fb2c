/** Screens are in files of their own, which are fetched when they are opened. */
import type { ComponentType } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ApiError } from './api.js';
import { readAhead } from './load.js';
import { ErrorNote, Loading } from './parts/notes.js';
import type { Screen, ScreenFile, ScreenProps } from './screen.js';

/** Those that are here already. */
const here = new WeakMap<object, ComponentType<never>>();

/** Fetches the file of a screen and what it reads whatever it shows. */
export function fetchFile<Props>({ reads = [], load }: Screen<Props>): Promise<ScreenFile<Props>> {
  for (const path of reads) readAhead(path);
  return load();
}

/** Fetches the file of a screen and, meanwhile known to be wanted, what it reads first. Whoever shows it says what failed. */
export function fetchScreen<Props extends ScreenProps>(screen: Screen<Props>, props: Props): void {
  fetchFile(screen).then(
    (module) => {
      here.set(screen, module.default as ComponentType<never>);
      module.readFirst?.(props);
    },
    () => {},
  );
}

/** Loads the file of a screen, then shows it. */
export function LoadedScreen<Props extends ScreenProps>({
  screen,
  title = screen.title,
  ...props
}: {
  readonly screen: Screen<Props>;
  /** Of the page; default: that of the screen. */
  readonly title?: string;
} & Props) {
  const [loaded, setLoaded] = useState(() => here.get(screen) as ComponentType<Props> | undefined);
  const [failed, setFailed] = useState(false);
  const load = (): void => {
    if (loaded) return;
    setFailed(false);
    screen.load().then(
      (module) => {
        here.set(screen, module.default as ComponentType<never>);
        setLoaded(() => module.default);
      },
      () => setFailed(true),
    );
  };
  useEffect(load, [screen]);
  // While it is drawn, not after it: then a screen inside another always says it last.
  useMemo(() => {
    document.title = `${title} – Zoneplane`;
  }, [title]);
  if (failed) {
    const message =
      'This screen could not be loaded: the server cannot be reached. Edits that are not saved are kept. If the server was replaced by another version, reload the page.';
    return <ErrorNote error={new ApiError(0, [{ code: 0, message }])} onRetry={load} />;
  }
  const Shown = loaded;
  return Shown ? <Shown {...(props as unknown as Props)} /> : <Loading what={screen.title.toLowerCase()} />;
}
