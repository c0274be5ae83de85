// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/recipe_reader_dialog.h"

#include <QDialogButtonBox>
#include <QFile>
#include <QPushButton>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextCursor>
#include <QTextFrame>
#include <QTextTable>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/dialog_frame.h"

namespace lockstep::ui {
namespace {

QString pathOf(const QString &recipe) {
    return QStringLiteral(":/docs/recipes/%1.md").arg(recipe);
}

/// A hairline below each row, as the window's own tables have; cells are set apart by air.
void styleTable(QTextTable *table, const QColor &line) {
    QTextTableFormat format = table->format();
    format.setBorder(0);
    format.setCellSpacing(0);
    format.setCellPadding(grid / 2.0);
    format.setTopMargin(grid);
    format.setBottomMargin(grid);
    table->setFormat(format);
    for (int row = 0; row < table->rows(); ++row)
        for (int column = 0; column < table->columns(); ++column) {
            QTextTableCell cell = table->cellAt(row, column);
            QTextTableCellFormat format = cell.format().toTableCellFormat();
            format.setBottomBorder(1);
            format.setBottomBorderStyle(QTextFrameFormat::BorderStyle_Solid);
            format.setBottomBorderBrush(line);
            format.setRightPadding(2 * grid);
            cell.setFormat(format);
        }
}

void styleTables(QTextFrame *frame, const QColor &line) {
    for (QTextFrame *child : frame->childFrames()) {
        if (auto *table = qobject_cast<QTextTable *>(child))
            styleTable(table, line);
        styleTables(child, line);
    }
}

/// Heads no larger than the window's own, air between paragraphs, and links that are seen to be links.
void styleBlock(const QTextBlock &block) {
    QTextCursor cursor(block);
    const int level = block.blockFormat().headingLevel();
    if (!cursor.currentTable()) {
        QTextBlockFormat air = block.blockFormat();
        air.setTopMargin(level > 1 ? 2 * grid : 0);
        air.setBottomMargin(grid);
        cursor.setBlockFormat(air);
    }
    if (level > 0) {
        cursor.select(QTextCursor::BlockUnderCursor);
        QTextCharFormat head;
        head.setProperty(QTextFormat::FontSizeAdjustment, level == 1 ? 2 : 1);
        cursor.mergeCharFormat(head);
    }
    for (auto part = block.begin(); !part.atEnd(); ++part)
        if (part.fragment().charFormat().isAnchor()) {
            cursor.setPosition(part.fragment().position());
            cursor.setPosition(part.fragment().position() + part.fragment().length(), QTextCursor::KeepAnchor);
            QTextCharFormat link;
            link.setFontUnderline(true);
            cursor.mergeCharFormat(link);
        }
}

} // namespace

bool RecipeReaderDialog::hasPage(const QString &recipe) {
    return QFile::exists(pathOf(recipe));
}

RecipeReaderDialog::RecipeReaderDialog(Theme &theme, const QString &recipe, QWidget *parent)
    : QDialog(parent), m_theme(theme), m_text(new QTextBrowser(this)) {
    setWindowTitle(tr("About %1").arg(recipe));
    QVBoxLayout *body = frameDialog(this, 2 * grid);
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setOpenExternalLinks(true);
    m_text->setAccessibleName(windowTitle());
    m_text->document()->setDocumentMargin(grid);
    connect(m_text, &QTextBrowser::sourceChanged, this, &RecipeReaderDialog::styleText);
    body->addWidget(m_text, 1);
    auto *buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    auto *back = buttons->addButton(tr("Back"), QDialogButtonBox::ActionRole);
    back->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Left));
    back->setToolTip(tr("Back to the previous page (Alt+Left)"));
    back->setEnabled(false);
    connect(m_text, &QTextBrowser::backwardAvailable, back, &QPushButton::setEnabled);
    connect(back, &QPushButton::clicked, m_text, &QTextBrowser::backward);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    body->addWidget(buttons);
    resize(100 * grid, 80 * grid);
    connect(&m_theme, &Theme::changed, this, &RecipeReaderDialog::restyle);
    m_text->setSource(QUrl(QStringLiteral("qrc:/docs/recipes/%1.md").arg(recipe)), QTextDocument::MarkdownResource);
}

void RecipeReaderDialog::restyle() {
    m_text->reload();
}

void RecipeReaderDialog::styleText() {
    styleTables(m_text->document()->rootFrame(), m_theme.palette().border);
    for (QTextBlock block = m_text->document()->begin(); block.isValid(); block = block.next())
        styleBlock(block);
    m_text->moveCursor(QTextCursor::Start);
}

} // namespace lockstep::ui

#include "moc_recipe_reader_dialog.cpp"
