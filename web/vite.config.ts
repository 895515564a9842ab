import { svelte } from '@sveltejs/vite-plugin-svelte'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

const OLD_FONT_FORMATS = /,url\([^)]+\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)/g

/** Every browser that runs this page reads woff2: leaving the other formats out saves 0.9 MB in the wheel. */
function onlyWoff2(): Plugin {
  return {
    name: 'katex-only-woff2',
    enforce: 'pre',
    transform(code, id) {
      return id.includes('katex') && id.includes('.css') ? code.replace(OLD_FONT_FORMATS, '') : null
    },
  }
}

const gateway = process.env.AGON_GATEWAY ?? 'http://127.0.0.1:8000'

export default defineConfig(({ mode }) => ({
  base: './',
  plugins: [svelte(), onlyWoff2()],
  resolve: mode === 'test' ? { conditions: ['browser'] } : {},
  build: {
    outDir: '../src/agon/page',
    emptyOutDir: true,
    // The content security policy allows no data: fonts, so nothing may be inlined as one.
    assetsInlineLimit: 0,
    // The chart and the formulas are the large ones; both load only where one is shown.
    chunkSizeWarningLimit: 400,
  },
  server: { proxy: { '/arena': gateway, '/chat': gateway } },
  test: { environment: 'jsdom', include: ['tests/**/*.test.ts'] },
}))
