/** Tabs of a screen. On narrow pages they scroll, and the present one is moved into sight. */
import { useEffect, useRef } from 'preact/hooks';
import { Link } from '../router.js';

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly { readonly href: string; readonly title: string; readonly current: boolean }[];
}

export function Tabs({ label, tabs }: TabsProps) {
  const nav = useRef<HTMLElement>(null);
  const current = tabs.find((tab) => tab.current)?.href;
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current]);
  return (
    <nav class="tabs" aria-label={label} ref={nav}>
      {tabs.map(({ href, title, current: isCurrent }) => (
        <Link key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {title}
        </Link>
      ))}
    </nav>
  );
}
