export const metadata = { title: 'Tried again' }

const style = { maxWidth: '38rem', margin: 'auto', padding: '2rem 1.25rem', font: '1rem/1.6 system-ui' }

export default function Layout({ children }) {
  return (
    <html lang="en" style={{ colorScheme: 'light dark' }}>
      <body style={style}>
        <h1>Tried again</h1>
        <p>Each of these failed once, and was asked a second time.</p>
        {children}
      </body>
    </html>
  )
}
