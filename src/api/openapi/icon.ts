/** The icon of the documentation: a plane of zones, drawn as text so that it needs no file. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" role="img" aria-label="Zoneplane">
<rect width="32" height="32" rx="6" fill="#12343b"/>
<path d="M6 11 L16 6 L26 11 L16 16 Z" fill="#e8f1f2"/>
<path d="M6 16 L16 21 L26 16" fill="none" stroke="#7fb7be" stroke-width="2.5"/>
<path d="M6 21 L16 26 L26 21" fill="none" stroke="#d3a15d" stroke-width="2.5"/>
</svg>`;
